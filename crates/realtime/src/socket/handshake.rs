//! Opening a socket (§2.1, §2.2).

use std::{borrow::Cow, sync::Arc};

use axum::{
    Json,
    extract::{State, WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, Uri};
use plinth_project::Project;
use serde_json::{Map, Value, json};

use super::{SocketContext, log::SocketLog, task};
use crate::{
    clock::now,
    config::RealtimeConfig,
    identity::{CredentialError, Identity},
    outbound_queue::OutboundQueue,
    protocol::Version,
    service::RealtimeService,
};

/// Largest frame of a client.
const MAX_FRAME_BYTES: usize = 5_000_000;

/// Most clients send little; a larger buffer is allocated when one sends more.
const READ_BUFFER_BYTES: usize = 2 * 1024;

/// Why a handshake is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("API key is missing")]
    MissingKey,
    #[error("{}", .0.handshake_message())]
    Credential(CredentialError),
    #[error("Realtime was disabled for this tenant")]
    Disabled,
    #[error("Too many connected users")]
    TooManySockets,
    #[error("Too many joins per second")]
    TooManyJoins,
}

impl HandshakeError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::MissingKey | Self::Credential(_) => StatusCode::UNAUTHORIZED,
            Self::Disabled => StatusCode::FORBIDDEN,
            Self::TooManySockets | Self::TooManyJoins => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

/// `GET /websocket`.
pub(crate) async fn open(
    State(service): State<RealtimeService>,
    project: Project,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if method != Method::GET {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let query = uri.query().unwrap_or_default();
    let Some(version) = Version::parse(query_parameter(query, "vsn").as_deref()) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let config = project.config::<RealtimeConfig>();
    let hub = service.hub(&project);
    let verified = match (&config, verify(&project, query, &headers)) {
        (config, _) if !config.is_enabled => Err(HandshakeError::Disabled),
        (_, Err(error)) => Err(error),
        (config, _) if hub.sockets() >= config.max_sockets => Err(HandshakeError::TooManySockets),
        (config, _) if hub.joins_per_second() >= config.max_joins => {
            Err(HandshakeError::TooManyJoins)
        }
        (_, Ok(identity)) => Ok(identity),
    };
    let identity = match verified {
        Ok(identity) => identity,
        Err(error) => {
            // Clients retry at once; the delay slows reconnect storms down.
            tokio::time::sleep(config.connect_error_backoff).await;
            let body = json!({ "error": error.to_string() });
            return (error.status(), Json(body)).into_response();
        }
    };
    let context = Arc::new(SocketContext {
        hub,
        version,
        identity,
        headers: application_headers(&headers),
        log: SocketLog::from_level(query_parameter(query, "log_level").as_deref()),
        outbound: Arc::new(OutboundQueue::new(config.max_queue_bytes)),
        stop: service.stopping(),
        tasks: service.tasks(),
        project,
    });
    let tasks = service.tasks();
    upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .on_upgrade(move |socket| tasks.track_future(task::serve(socket, context)))
}

/// The credential is in the header `x-api-key` or in the query; the header wins.
fn verify(project: &Project, query: &str, headers: &HeaderMap) -> Result<Identity, HandshakeError> {
    let header = headers
        .get("x-api-key")
        .and_then(|value| value.to_str().ok());
    let key = header
        .map(Cow::Borrowed)
        .or_else(|| query_parameter(query, "apikey"));
    let key = key.filter(|key| !key.trim().is_empty());
    let key = key.ok_or(HandshakeError::MissingKey)?;
    Identity::verify(project, &key, now()).map_err(HandshakeError::Credential)
}

fn query_parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(own, _)| own == name).map(|(_, value)| value)
}

/// What policies see as `request.headers`: those that an application may have added.
fn application_headers(headers: &HeaderMap) -> Arc<str> {
    let own: Map<String, Value> = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-"))
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), Value::from(value))
        })
        .collect();
    Value::Object(own).to_string().into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn policies_see_only_the_headers_of_applications() {
        let mut headers = HeaderMap::new();
        headers.insert("x-client-info", HeaderValue::from_static("a"));
        headers.insert("cookie", HeaderValue::from_static("b"));
        assert_eq!(&*application_headers(&headers), r#"{"x-client-info":"a"}"#);
    }
}
