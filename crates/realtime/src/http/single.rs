//! `POST /api/broadcast/{topic}/events/{event}`: one message, JSON or bytes (§6.4).
//!
//! Never 404: clients take that for a server that is too old for the call.

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, Uri, header::CONTENT_TYPE};
use plinth_project::Project;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{error::HttpError, sender::Sender};
use crate::{
    protocol::{Body, Broadcast, UserBroadcast},
    service::RealtimeService,
};

/// The path; a missing name is empty.
#[derive(Deserialize)]
pub(crate) struct EventPath {
    #[serde(default)]
    topic: String,
    #[serde(default)]
    event: String,
}

impl EventPath {
    fn validate(self) -> Result<Self, HttpError> {
        let names = [("topic", &self.topic), ("event", &self.event)];
        let missing = names.into_iter().filter(|(_, text)| text.is_empty());
        let errors: Map<String, Value> = missing
            .map(|(name, _)| (name.to_owned(), json!(["can't be blank"])))
            .collect();
        if errors.is_empty() {
            Ok(self)
        } else {
            Err(HttpError::Invalid(errors.into()))
        }
    }
}

pub(crate) async fn broadcast_one(
    State(service): State<RealtimeService>,
    project: Project,
    Path(path): Path<EventPath>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, HttpError> {
    let sender = Sender::verify(&service, project, &headers)?;
    let EventPath { topic, event } = path.validate()?;
    let is_private = uri.query().is_some_and(|query| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.any(|(name, value)| name == "private" && value == "true")
    });
    let body = match media_type(&headers) {
        Some(MediaType::Json) => {
            serde_json::from_slice::<&RawValue>(&body).map_err(|_| HttpError::NotJson)?;
            Body::Json(body)
        }
        Some(MediaType::Bytes) => Body::Bytes(body),
        None => return Err(HttpError::UnsupportedMediaType),
    };
    if body.len() > sender.config.max_payload_bytes {
        let errors = json!({ "payload": ["Payload size exceeds tenant limit"] });
        return Err(HttpError::Invalid(errors));
    }
    sender.check_rate(1).map_err(|_| HttpError::OverRateLimit)?;
    if is_private && !sender.can_write(&topic).await? {
        return Err(HttpError::Forbidden);
    }
    let broadcast = Broadcast::User(UserBroadcast {
        event: event.into(),
        body,
        meta: None,
    });
    sender.send(&topic, is_private, &broadcast);
    let mut response = StatusCode::ACCEPTED.into_response();
    sender.add_rate_headers(&mut response);
    Ok(response)
}

enum MediaType {
    Json,
    Bytes,
}

fn media_type(headers: &HeaderMap) -> Option<MediaType> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Some(MediaType::Json);
    };
    let value = value.to_str().ok()?;
    let value = value.split(';').next().unwrap_or_default().trim();
    match value.to_ascii_lowercase().as_str() {
        "application/json" => Some(MediaType::Json),
        "application/octet-stream" => Some(MediaType::Bytes),
        _ => None,
    }
}
