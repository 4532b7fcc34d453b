//! The requests of the protocol.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;

use super::ResumeToken;
use crate::call_options::CallOptions;
use crate::http::HttpResponse;
use crate::storage::StorageError;
use crate::storage::path;
use crate::storage::request::{Call, RequestContext};

/// Parameters of one upload's requests.
pub(super) struct Protocol {
    pub(super) context: RequestContext,
    pub(super) signature: Option<String>,
    pub(super) is_upsert: bool,
    pub(super) options: CallOptions,
}

/// Progress of an upload.
pub(super) struct State {
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
    /// `bucket` and `path`, if the response has them.
    pub(super) place: Option<(String, String)>,
}

impl Protocol {
    pub(super) async fn create(
        &self,
        length: u64,
        about: &[(&str, &str)],
    ) -> Result<ResumeToken, StorageError> {
        let pair = |(name, value): &(&str, &str)| format!("{name} {}", STANDARD.encode(value));
        let about = about.iter().map(pair).collect::<Vec<_>>().join(",");
        let call = self
            .call(Method::POST, self.base().to_owned())
            .header("upload-length", length)
            .header("upload-metadata", about);
        let response = self.context.response(call, &self.options).await?;
        // Only the upload's name is taken from `Location`: a misconfigured server would send us, and the key, to
        // another host.
        let location = response.header("location").unwrap_or_default();
        let location = location.split(['?', '#']).next().unwrap_or_default();
        match location.rsplit('/').next() {
            Some(id) if !id.is_empty() => Ok(ResumeToken(id.to_owned())),
            _ => Err(StorageError::unreadable(
                "it does not say where the upload is",
            )),
        }
    }

    pub(super) async fn state(&self, token: &ResumeToken) -> Result<State, StorageError> {
        let call = self.call(Method::HEAD, self.place(token)?);
        let response = self.context.response(call, &self.options).await?;
        Ok(State {
            offset: offset_of(&response)?,
            length: number(&response, "upload-length"),
            place: response.header("upload-metadata").and_then(place_in),
        })
    }

    /// Returns the new offset.
    pub(super) async fn append(
        &self,
        token: &ResumeToken,
        offset: u64,
        chunk: Bytes,
    ) -> Result<u64, StorageError> {
        let call = self
            .call(Method::PATCH, self.place(token)?)
            .header("upload-offset", offset)
            .header("content-type", "application/offset+octet-stream")
            .bytes(chunk);
        offset_of(&self.context.response(call, &self.options).await?)
    }

    pub(super) async fn terminate(&self, token: &ResumeToken) -> Result<(), StorageError> {
        let call = self.call(Method::DELETE, self.place(token)?);
        self.context.response(call, &self.options).await.map(drop)
    }

    fn base(&self) -> &'static str {
        match self.signature {
            Some(_) => "upload/resumable/sign",
            None => "upload/resumable",
        }
    }

    fn place(&self, token: &ResumeToken) -> Result<String, StorageError> {
        let id = token.as_str();
        if id.is_empty() || id.contains('/') || matches!(id, "." | "..") {
            return Err(StorageError::InvalidInput("the resume token is malformed"));
        }
        Ok(format!("{}/{}", self.base(), path::encode(id)))
    }

    /// The upsert header is sent with every request.
    fn call(&self, method: Method, place: String) -> Call {
        let call = Call::new(method, place)
            .header("tus-resumable", "1.0.0")
            .header("x-upsert", self.is_upsert);
        match &self.signature {
            Some(signature) => call.header("x-signature", signature),
            None => call,
        }
    }
}

fn number(response: &HttpResponse, name: &str) -> Option<u64> {
    response.header(name)?.trim().parse().ok()
}

fn offset_of(response: &HttpResponse) -> Result<u64, StorageError> {
    let unknown = || StorageError::unreadable("it does not say how much has arrived");
    number(response, "upload-offset").ok_or_else(unknown)
}

fn place_in(metadata: &str) -> Option<(String, String)> {
    let value = |name: &str| {
        let mut pairs = metadata
            .split(',')
            .filter_map(|pair| pair.trim().split_once(' '));
        let (_, value) = pairs.find(|(found, _)| *found == name)?;
        String::from_utf8(STANDARD.decode(value).ok()?).ok()
    };
    Some((value("bucketName")?, value("objectName")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_says_where_it_belongs() {
        let place = |text| place_in(text);
        let expected = Some(("b".to_owned(), "a b".to_owned()));

        assert_eq!(place("bucketName Yg==,objectName YSBi,empty"), expected);
        assert_eq!(place("empty, objectName YSBi, bucketName Yg=="), expected);
        assert_eq!(place("bucketName Yg=="), None);
        assert_eq!(place("bucketName !,objectName YSBi"), None);
        assert_eq!(place(""), None);
    }
}
