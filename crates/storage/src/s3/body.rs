//! The body of a signed request: its bytes, without what only proves them.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_LENGTH};

use super::{
    authenticate::Payload,
    aws_chunked::{Decoder, Piece},
    checksums::{Checksums, announced},
};
use crate::{
    blobs::Source,
    error::{Code, StorageError},
    objects::next_of_body,
};

/// A body that is checked while it is read. Its bytes are good once its end has come.
pub(super) struct S3Body {
    body: Body,
    decoder: Option<Decoder>,
    /// Gone once they were compared.
    checksums: Option<Checksums>,
    /// Names that the trailer must have.
    announced: Vec<&'static str>,
    /// How many bytes it shall have.
    length: Option<u64>,
    size: u64,
    found: Vec<(HeaderName, HeaderValue)>,
}

impl S3Body {
    pub(super) fn new(
        body: Body,
        payload: Payload,
        headers: &HeaderMap,
        has_checksums: bool,
    ) -> Result<Self, StorageError> {
        let mut checksums = match has_checksums {
            true => Checksums::of_headers(headers),
            false => Checksums::default(),
        };
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let mut names = Vec::new();
        let (decoder, length) = match payload {
            Payload::Unsigned => (None, number(CONTENT_LENGTH.as_str())),
            Payload::Sha256(hash) => {
                checksums.expect_signed(hash);
                (None, number(CONTENT_LENGTH.as_str()))
            }
            Payload::Chunked {
                signer,
                has_trailer,
            } => {
                let length = number("x-amz-decoded-content-length");
                let length = length.ok_or_else(missing_length)?;
                if has_trailer {
                    names.extend(announced(headers));
                }
                (Some(Decoder::new(signer, has_trailer)), Some(length))
            }
        };
        Ok(Self {
            body,
            decoder,
            checksums: Some(checksums),
            announced: names,
            length,
            size: 0,
            found: Vec::new(),
        })
    }

    /// How many bytes it shall have, where it says so.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The same for a body that must say so.
    pub(super) fn required_length(&self) -> Result<u64, StorageError> {
        self.length.ok_or_else(missing_length)
    }

    /// The checksums that were announced and are right, as an answer repeats them.
    pub(super) fn found(&mut self) -> Vec<(HeaderName, HeaderValue)> {
        std::mem::take(&mut self.found)
    }

    /// A small body as a whole.
    pub(super) async fn read_small(&mut self, most: usize) -> Result<Vec<u8>, StorageError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if whole.len() + bytes.len() > most {
                return Err(StorageError::too_large());
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(decoder) = &mut self.decoder else {
            return next_of_body(&mut self.body).await;
        };
        loop {
            match decoder.next()? {
                Piece::Data(data) => return Ok(Some(data)),
                Piece::Hungry => match next_of_body(&mut self.body).await? {
                    Some(bytes) => decoder.feed(&bytes),
                    None => return Err(incomplete()),
                },
                // Whatever still came would stand behind the end.
                Piece::End => match next_of_body(&mut self.body).await? {
                    Some(bytes) => decoder.feed(&bytes),
                    None => return Ok(None),
                },
            }
        }
    }

    fn check_end(&mut self) -> Result<(), StorageError> {
        if self.length.is_some_and(|length| length != self.size) {
            return Err(incomplete());
        }
        let Some(mut checksums) = self.checksums.take() else {
            return Ok(());
        };
        if let Some(decoder) = &self.decoder {
            let trailer = decoder.trailer();
            let has = |name: &&str| {
                let mut names = trailer.iter().map(|(found, _)| found);
                names.any(|found| found.strip_prefix("x-amz-checksum-") == Some(name))
            };
            if !self.announced.iter().all(has) {
                return Err(StorageError::invalid_request(
                    "The trailer lacks what x-amz-trailer announces",
                ));
            }
            checksums.expect_trailer(trailer);
        }
        self.found = checksums.finish()?;
        Ok(())
    }
}

impl Source for S3Body {
    fn at_most(&self) -> Option<u64> {
        self.length
    }

    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(bytes) = self.next_piece().await? else {
            self.check_end()?;
            return Ok(None);
        };
        self.size += bytes.len() as u64;
        if self.length.is_some_and(|length| self.size > length) {
            return Err(incomplete());
        }
        if let Some(checksums) = &mut self.checksums {
            checksums.update(&bytes);
        }
        Ok(Some(bytes))
    }
}

fn missing_length() -> StorageError {
    let message = "You must provide the Content-Length HTTP header.";
    StorageError::new(Code::MissingContentLength, 400, message)
}

fn incomplete() -> StorageError {
    let message = "The body has another length than the request says";
    StorageError::new(Code::IncompleteBody, 400, message)
}
