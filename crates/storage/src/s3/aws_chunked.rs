//! Bodies in chunks, each perhaps with a signature, and perhaps a trailer (storage contract §6.1).
//!
//! ```text
//! <size>[;chunk-signature=<64 digits>]␍␊ <bytes>␍␊  …  0[;chunk-signature=…]␍␊ [<name>:<value>␍␊ …] ␍␊
//! ```
//!
//! Bytes are passed on as they come, before their chunk's signature is known to be good: whoever
//! takes them must not show them to anybody before the end has been reached.

use aws_lc_rs::digest::{Context as Sha, SHA256};
use bytes::{Buf, Bytes, BytesMut};

use super::sigv4::ChunkSigner;
use crate::{
    error::{Code, StorageError},
    hex::hex,
};

/// A signed chunk can be trusted only once it is complete, so it must not be large.
const MAX_SIGNED_CHUNK: u64 = 8 * 1024 * 1024;
const MAX_HEADER: usize = 256;
const MAX_TRAILER_LINE: usize = 1024;
const MAX_TRAILER_LINES: usize = 16;

/// What the decoder has for its reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Data(Bytes),
    /// Nothing before more bytes are fed.
    Hungry,
    End,
}

/// Takes a body apart.
pub(super) struct Decoder {
    signer: Option<Box<ChunkSigner>>,
    has_trailer: bool,
    state: State,
    buffer: BytesMut,
    sha: Sha,
    trailer: Vec<(String, String)>,
}

enum State {
    Header,
    Data {
        left: u64,
        signature: String,
    },
    /// The line break behind a chunk's bytes.
    Break,
    Trailer,
    End,
}

impl Decoder {
    pub(super) fn new(signer: Option<Box<ChunkSigner>>, has_trailer: bool) -> Self {
        Self {
            signer,
            has_trailer,
            state: State::Header,
            buffer: BytesMut::new(),
            sha: Sha::new(&SHA256),
            trailer: Vec::new(),
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// What stood behind the last chunk; complete at the end.
    pub(super) fn trailer(&self) -> &[(String, String)] {
        &self.trailer
    }

    pub(super) fn next(&mut self) -> Result<Piece, StorageError> {
        loop {
            let is_done = match &mut self.state {
                State::Header => self.header()?,
                State::Data { left, signature } => {
                    if *left > 0 {
                        let most = usize::try_from(*left).unwrap_or(usize::MAX);
                        let data = self.buffer.split_to(most.min(self.buffer.len())).freeze();
                        if data.is_empty() {
                            return Ok(Piece::Hungry);
                        }
                        *left -= data.len() as u64;
                        if self.signer.is_some() {
                            self.sha.update(&data);
                        }
                        return Ok(Piece::Data(data));
                    }
                    let signature = std::mem::take(signature);
                    self.check_chunk(&signature)?;
                    self.state = State::Break;
                    true
                }
                State::Break => match self.line(MAX_HEADER)? {
                    Some(line) if line.is_empty() => {
                        self.state = State::Header;
                        true
                    }
                    Some(_) => return Err(malformed("a chunk is longer than it says")),
                    None => false,
                },
                State::Trailer => self.trailer_line()?,
                State::End => {
                    return match self.buffer.is_empty() {
                        true => Ok(Piece::End),
                        false => Err(malformed("something stands behind the end")),
                    };
                }
            };
            if !is_done {
                return Ok(Piece::Hungry);
            }
        }
    }

    /// `<size>` and its signature; false while the line is not complete.
    fn header(&mut self) -> Result<bool, StorageError> {
        let Some(line) = self.line(MAX_HEADER)? else {
            return Ok(false);
        };
        let (size, rest) = line.split_once(';').unwrap_or((&line, ""));
        let is_size = (1..=16).contains(&size.len()) && size.bytes().all(|b| b.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| is_size);
        let size = size.ok_or_else(|| malformed("a chunk has no size"))?;
        let signature = rest.strip_prefix("chunk-signature=").unwrap_or_default();
        if self.signer.is_some() && signature.is_empty() {
            return Err(malformed("a chunk has no signature"));
        }
        if self.signer.is_some() && size > MAX_SIGNED_CHUNK {
            return Err(malformed("a chunk has more than 8 MiB"));
        }
        self.state = match size {
            0 => {
                let signature = signature.to_owned();
                self.check_chunk(&signature)?;
                State::Trailer
            }
            left => State::Data {
                left,
                signature: signature.to_owned(),
            },
        };
        Ok(true)
    }

    fn check_chunk(&mut self, signature: &str) -> Result<(), StorageError> {
        let Some(signer) = &mut self.signer else {
            return Ok(());
        };
        let sha = std::mem::replace(&mut self.sha, Sha::new(&SHA256));
        match signer.accepts_chunk(&hex(sha.finish().as_ref()), signature) {
            true => Ok(()),
            false => Err(mismatch("a chunk")),
        }
    }

    fn trailer_line(&mut self) -> Result<bool, StorageError> {
        let Some(line) = self.line(MAX_TRAILER_LINE)? else {
            return Ok(false);
        };
        if line.is_empty() {
            self.check_trailer()?;
            self.state = State::End;
            return Ok(true);
        }
        let is_expected = self.has_trailer && self.trailer.len() < MAX_TRAILER_LINES;
        let pair = line.split_once(':').filter(|_| is_expected);
        let (name, value) = pair.ok_or_else(|| malformed("the trailer"))?;
        let name = name.trim().to_ascii_lowercase();
        self.trailer.push((name, value.trim().to_owned()));
        Ok(true)
    }

    fn check_trailer(&mut self) -> Result<(), StorageError> {
        let Some(signer) = self.signer.as_mut().filter(|_| self.has_trailer) else {
            return Ok(());
        };
        let place = self
            .trailer
            .iter()
            .position(|(name, _)| name == "x-amz-trailer-signature");
        let place = place.ok_or_else(|| malformed("the trailer has no signature"))?;
        let (_, signature) = self.trailer.remove(place);
        let text: String = self
            .trailer
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        match signer.accepts_trailer(&text, &signature) {
            true => Ok(()),
            false => Err(mismatch("the trailer")),
        }
    }

    /// The next line without its break; `None` while it is not complete.
    fn line(&mut self, most: usize) -> Result<Option<String>, StorageError> {
        let end = self.buffer.iter().take(most + 1).position(|b| *b == b'\n');
        let Some(end) = end else {
            return match self.buffer.len() > most {
                true => Err(malformed("a line is too long")),
                false => Ok(None),
            };
        };
        let line = self.buffer.split_to(end);
        self.buffer.advance(1);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let line = std::str::from_utf8(line).map_err(|_| malformed("a line is no text"))?;
        Ok(Some(line.to_owned()))
    }
}

fn malformed(what: &str) -> StorageError {
    StorageError::invalid_request(format!("The chunks of the body cannot be read: {what}"))
}

fn mismatch(what: &str) -> StorageError {
    let message = format!("The signature of {what} is not the right one");
    StorageError::new(Code::SignatureDoesNotMatch, 403, message)
}
