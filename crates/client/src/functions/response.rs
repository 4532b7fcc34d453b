//! Responses, decoded by content type.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::try_unfold;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Form, FunctionError, ServerSentEvents};
use crate::http::{Http, Pieces, StreamedResponse};

/// Maximum size of a response that is not streamed.
const MAX_RESPONSE_BYTES: usize = 256 * 1024 * 1024;

/// A function's response.
#[derive(Debug)]
#[non_exhaustive]
pub struct FunctionResponse {
    /// The HTTP status, which is a success.
    pub status: u16,
    /// The response's headers.
    pub headers: HeaderMap,
    /// The decoded body.
    pub data: FunctionData,
}

/// A response body, decoded by `Content-Type`.
#[derive(Debug)]
#[non_exhaustive]
pub enum FunctionData {
    /// `application/json`
    Json(Value),
    /// `application/octet-stream` and `application/pdf`
    Bytes(Bytes),
    /// `multipart/form-data`
    Form(Form),
    /// `text/event-stream`, unread.
    Stream(FunctionStream),
    /// Everything else, and responses without a type.
    Text(String),
}

/// How a content type is decoded.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Bytes,
    Form,
    Stream,
    Text,
}

impl FunctionResponse {
    pub(super) async fn read(response: StreamedResponse) -> Result<Self, FunctionError> {
        let content_type = response.headers.get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|kind| kind.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let kind = kind_of(&content_type);
        let (status, headers) = (response.status, response.headers.clone());
        let data = match kind {
            Kind::Stream => FunctionData::Stream(FunctionStream::new(response, None)),
            kind => {
                let body = response.collect(MAX_RESPONSE_BYTES).await?.body;
                match kind {
                    Kind::Json => FunctionData::Json(read_json(&body)?),
                    Kind::Bytes => FunctionData::Bytes(body),
                    Kind::Form => FunctionData::Form(Form::parse(&content_type, body).await?),
                    Kind::Stream | Kind::Text => {
                        FunctionData::Text(String::from_utf8_lossy(&body).into_owned())
                    }
                }
            }
        };
        Ok(Self {
            status,
            headers,
            data,
        })
    }

    /// The body, deserialized as this type. Only for JSON; an empty body counts as `null`.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, FunctionError> {
        let value = match self.data {
            FunctionData::Json(value) => value,
            FunctionData::Text(text) if text.is_empty() => Value::Null,
            other => return Err(FunctionError::unreadable(other.instead_of("JSON"))),
        };
        serde_json::from_value(value).map_err(FunctionError::unreadable)
    }

    /// The body as text.
    pub fn text(self) -> Result<String, FunctionError> {
        match self.data {
            FunctionData::Text(text) => Ok(text),
            FunctionData::Json(value) => Ok(value.to_string()),
            other => Err(FunctionError::unreadable(other.instead_of("text"))),
        }
    }

    /// The body as bytes.
    pub fn bytes(self) -> Result<Bytes, FunctionError> {
        match self.data {
            FunctionData::Bytes(bytes) => Ok(bytes),
            FunctionData::Text(text) => Ok(text.into()),
            other => Err(FunctionError::unreadable(other.instead_of("bytes"))),
        }
    }

    /// A response header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl FunctionData {
    fn instead_of(&self, expected: &str) -> String {
        let found = match self {
            Self::Json(_) => "JSON",
            Self::Bytes(_) => "bytes",
            Self::Form(_) => "a form",
            Self::Stream(_) => "a stream of events",
            Self::Text(_) => "text",
        };
        format!("it is {found}, not {expected}")
    }
}

fn read_json(body: &[u8]) -> Result<Value, FunctionError> {
    serde_json::from_slice(body).map_err(FunctionError::unreadable)
}

/// Compares types ignoring case and parameters.
fn kind_of(content_type: &str) -> Kind {
    let kind = content_type.split(';').next().unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/json" => Kind::Json,
        "application/octet-stream" | "application/pdf" => Kind::Bytes,
        "text/event-stream" => Kind::Stream,
        "multipart/form-data" => Kind::Form,
        _ => Kind::Text,
    }
}

/// A streamed response: a stream of its bytes.
pub struct FunctionStream {
    status: u16,
    headers: HeaderMap,
    body: Pieces,
}

impl FunctionStream {
    /// With a timeout for each chunk.
    pub(super) fn new(response: StreamedResponse, limit: Option<(Http, Duration)>) -> Self {
        let body = match limit {
            None => response.body,
            Some((http, limit)) => {
                let state = (http, response.body);
                Box::pin(try_unfold(state, move |(http, mut body)| async move {
                    let piece = http.within(Some(limit), body.next()).await?;
                    Ok(piece.transpose()?.map(|piece| (piece, (http, body))))
                }))
            }
        };
        Self {
            status: response.status,
            headers: response.headers,
            body,
        }
    }

    /// The HTTP status, which is a success.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The response's headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Its content type.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Parses it as server-sent events (`text/event-stream`).
    pub fn events(self) -> ServerSentEvents {
        ServerSentEvents::new(self)
    }
}

impl Stream for FunctionStream {
    type Item = Result<Bytes, FunctionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = self.body.poll_next_unpin(context);
        piece.map(|piece| piece.map(|piece| piece.map_err(Into::into)))
    }
}

impl std::fmt::Debug for FunctionStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FunctionStream")
            .field("status", &self.status)
            .field("content_type", &self.content_type())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_in_any_case_and_with_parameters() {
        let check = |content_type, kind| assert_eq!(kind_of(content_type), kind, "{content_type}");

        check("application/json", Kind::Json);
        check(" Application/JSON ; charset=utf-8", Kind::Json);
        check("application/octet-stream", Kind::Bytes);
        check("application/PDF", Kind::Bytes);
        check("text/event-stream; charset=utf-8", Kind::Stream);
        check("multipart/form-data; boundary=x", Kind::Form);
        check("application/problem+json", Kind::Text);
        check("image/png", Kind::Text);
        check("", Kind::Text);
    }
}
