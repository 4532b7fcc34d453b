//! `aws-chunked` bodies: chunks, optionally signed, and an optional trailer (storage contract
//! §6.1).
//!
//! ```text
//! <size>[;chunk-signature=<64 digits>]␍␊ <bytes>␍␊  …  0[;chunk-signature=…]␍␊ [<name>:<value>␍␊ …] ␍␊
//! ```
//!
//! Bytes are passed on before the signature of their chunk is verified: they must not be served
//! before the end of the body was reached.

use aws_lc_rs::digest::{Context as Sha, SHA256};
use bytes::{Buf, Bytes, BytesMut};

use super::sigv4::ChunkSigner;
use crate::{
    error::{Code, StorageError},
    hex::hex,
};

/// A signed chunk is verified only once it is complete, so it must not be large.
const MAX_SIGNED_CHUNK: u64 = 8 * 1024 * 1024;
const MAX_HEADER: usize = 256;
const MAX_TRAILER_LINE: usize = 1024;
const MAX_TRAILER_LINES: usize = 16;

/// The output of the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    Data(Bytes),
    /// It needs more input.
    NeedInput,
    End,
}

/// Decodes a body.
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
    /// The line break after the bytes of a chunk.
    LineBreak,
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

    /// The trailer; complete at the end.
    pub(super) fn trailer(&self) -> &[(String, String)] {
        &self.trailer
    }

    pub(super) fn next(&mut self) -> Result<Decoded, StorageError> {
        loop {
            let has_advanced = match &mut self.state {
                State::Header => self.header()?,
                State::Data { left, signature } => {
                    if *left > 0 {
                        let most = usize::try_from(*left).unwrap_or(usize::MAX);
                        let data = self.buffer.split_to(most.min(self.buffer.len())).freeze();
                        if data.is_empty() {
                            return Ok(Decoded::NeedInput);
                        }
                        *left -= data.len() as u64;
                        if self.signer.is_some() {
                            self.sha.update(&data);
                        }
                        return Ok(Decoded::Data(data));
                    }
                    let signature = std::mem::take(signature);
                    self.check_chunk(&signature)?;
                    self.state = State::LineBreak;
                    true
                }
                State::LineBreak => match self.line(MAX_HEADER)? {
                    Some(line) if line.is_empty() => {
                        self.state = State::Header;
                        true
                    }
                    Some(_) => return Err(malformed("a chunk is longer than its declared size")),
                    None => false,
                },
                State::Trailer => self.trailer_line()?,
                State::End => {
                    return if self.buffer.is_empty() {
                        Ok(Decoded::End)
                    } else {
                        Err(malformed("there are bytes after the end"))
                    };
                }
            };
            if !has_advanced {
                return Ok(Decoded::NeedInput);
            }
        }
    }

    /// The header of a chunk; `false` while the line is incomplete.
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
        if signer.accepts_chunk(&hex(sha.finish().as_ref()), signature) {
            Ok(())
        } else {
            Err(mismatch("a chunk"))
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
        let (name, value) = pair.ok_or_else(|| malformed("the trailer is invalid"))?;
        let name = name.trim().to_ascii_lowercase();
        self.trailer.push((name, value.trim().to_owned()));
        Ok(true)
    }

    fn check_trailer(&mut self) -> Result<(), StorageError> {
        let Some(signer) = self.signer.as_mut().filter(|_| self.has_trailer) else {
            return Ok(());
        };
        let index = self
            .trailer
            .iter()
            .position(|(name, _)| name == "x-amz-trailer-signature");
        let index = index.ok_or_else(|| malformed("the trailer has no signature"))?;
        let (_, signature) = self.trailer.remove(index);
        let text: String = self
            .trailer
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        if signer.accepts_trailer(&text, &signature) {
            Ok(())
        } else {
            Err(mismatch("the trailer"))
        }
    }

    /// The next line without its line break; `None` while it is incomplete.
    fn line(&mut self, max_bytes: usize) -> Result<Option<String>, StorageError> {
        let end = self
            .buffer
            .iter()
            .take(max_bytes + 1)
            .position(|b| *b == b'\n');
        let Some(end) = end else {
            return if self.buffer.len() > max_bytes {
                Err(malformed("a line is too long"))
            } else {
                Ok(None)
            };
        };
        let line = self.buffer.split_to(end);
        self.buffer.advance(1);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let line = std::str::from_utf8(line).map_err(|_| malformed("a line is not UTF-8"))?;
        Ok(Some(line.to_owned()))
    }
}

fn malformed(what: &str) -> StorageError {
    StorageError::invalid_request(format!("The aws-chunked body is malformed: {what}"))
}

fn mismatch(what: &str) -> StorageError {
    let message = format!("The signature of {what} does not match");
    StorageError::new(Code::SignatureDoesNotMatch, 403, message)
}
