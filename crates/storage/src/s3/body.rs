//! The body of a signed request: decodes it, and verifies its length, hash and checksums.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_LENGTH};

use super::{
    aws_chunked::{Decoded, Decoder},
    checksums::{Checksums, trailer_checksums},
    signature::Payload,
};
use crate::{
    blobs::ByteSource,
    error::{Code, StorageError},
    request::next_chunk,
};

/// A body that is verified while it is read: its bytes are trustworthy once the end was reached.
pub(super) struct S3Body {
    body: Body,
    decoder: Option<Decoder>,
    /// `None` once they were compared.
    checksums: Option<Checksums>,
    /// The checksums that the trailer must have.
    announced: Vec<&'static str>,
    /// The declared length.
    length: Option<u64>,
    size: u64,
    verified: Vec<(HeaderName, HeaderValue)>,
}

impl S3Body {
    pub(super) fn new(
        body: Body,
        payload: Payload,
        headers: &HeaderMap,
        has_checksums: bool,
    ) -> Result<Self, StorageError> {
        let mut checksums = if has_checksums {
            Checksums::of_headers(headers)
        } else {
            Checksums::default()
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
                    names.extend(trailer_checksums(headers));
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
            verified: Vec::new(),
        })
    }

    /// The declared length, if there is one.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The declared length; an error without one.
    pub(super) fn required_length(&self) -> Result<u64, StorageError> {
        self.length.ok_or_else(missing_length)
    }

    /// The checksums that were announced and match, as headers of the response.
    pub(super) fn take_verified_checksums(&mut self) -> Vec<(HeaderName, HeaderValue)> {
        std::mem::take(&mut self.verified)
    }

    /// Reads a small body at once.
    pub(super) async fn read_all(&mut self, max_bytes: usize) -> Result<Vec<u8>, StorageError> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next_chunk().await? {
            if all.len() + bytes.len() > max_bytes {
                return Err(StorageError::too_large());
            }
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }

    async fn next_decoded(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(decoder) = &mut self.decoder else {
            return next_chunk(&mut self.body).await;
        };
        loop {
            match decoder.next()? {
                Decoded::Data(data) => return Ok(Some(data)),
                Decoded::NeedInput => match next_chunk(&mut self.body).await? {
                    Some(bytes) => decoder.feed(&bytes),
                    None => return Err(incomplete()),
                },
                // More bytes would be after the end, which is an error.
                Decoded::End => match next_chunk(&mut self.body).await? {
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
                    "The trailer lacks a checksum that x-amz-trailer announces",
                ));
            }
            checksums.expect_trailer(trailer);
        }
        self.verified = checksums.finish()?;
        Ok(())
    }
}

impl ByteSource for S3Body {
    fn max_size(&self) -> Option<u64> {
        self.length
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(bytes) = self.next_decoded().await? else {
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
    let message = "The length of the body is not the declared one";
    StorageError::new(Code::IncompleteBody, 400, message)
}
