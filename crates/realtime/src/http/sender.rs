//! The caller of a broadcast over HTTP, and its rate limit.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use plinth_project::Project;
use serde_json::{Map, Value};

use super::error::HttpError;
use crate::{
    authorize::{AccessCheck, AuthorizeError, Extension},
    clock::now,
    config::RealtimeConfig,
    hub::Hub,
    identity::Identity,
    protocol::{Broadcast, TOPIC_PREFIX},
    service::RealtimeService,
};

/// A verified caller.
pub(super) struct Sender {
    project: Project,
    hub: Arc<Hub>,
    pub(super) config: Arc<RealtimeConfig>,
    identity: Identity,
    headers: Arc<str>,
}

impl Sender {
    /// Verifies the bearer token or else the header `apikey`. Clients without a session send their
    /// API key as bearer token.
    pub(super) fn verify(
        service: &RealtimeService,
        project: Project,
        headers: &HeaderMap,
    ) -> Result<Self, HttpError> {
        let config = project.config::<RealtimeConfig>();
        if !config.is_enabled {
            return Err(HttpError::Disabled);
        }
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let bearer = text(AUTHORIZATION.as_str()).and_then(|header| {
            let (scheme, token) = header.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let credential = bearer.or_else(|| text("apikey")).unwrap_or_default();
        let identity = Identity::verify(&project, credential, now());
        Ok(Self {
            hub: service.hub(&project),
            config,
            identity: identity.map_err(|_| HttpError::Unauthenticated)?,
            headers: all_headers(headers),
            project,
        })
    }

    /// Checks the rate limit for so many messages.
    pub(super) fn check_rate(&self, count: usize) -> Result<(), HttpError> {
        let (average, max) = (self.hub.events_per_second(), self.config.max_events);
        match average {
            _ if average > max => Err(HttpError::OverRateLimit),
            _ if average == max => Err(HttpError::AtRateLimit),
            _ if average + count as u64 > max => Err(HttpError::BatchTooLarge),
            _ => Ok(()),
        }
    }

    /// Whether policies permit the caller to broadcast on a private topic.
    pub(super) async fn can_write(&self, sub_topic: &str) -> Result<bool, AuthorizeError> {
        let check = AccessCheck {
            caller: self.identity.caller.clone(),
            sub_topic: sub_topic.into(),
            headers: self.headers.clone(),
        };
        let check = check.can_write(&self.project.db, Extension::Broadcast);
        self.hub.metrics.time_write_check(check).await
    }

    pub(super) fn send(&self, sub_topic: &str, is_private: bool, broadcast: &Broadcast) {
        let topic = format!("{TOPIC_PREFIX}{sub_topic}");
        self.hub.broadcast(&topic, is_private, broadcast, None);
    }

    /// Adds the headers that say how much the caller may still send.
    pub(super) fn add_rate_headers(&self, response: &mut Response) {
        let (average, max) = (self.hub.events_per_second(), self.config.max_events);
        let headers = [
            ("x-rate-rolling", average),
            ("x-rate-limit", max),
            ("x-rate-limit-remaining", max.saturating_sub(average)),
        ];
        for (name, number) in headers {
            let value = HeaderValue::from(number);
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}

/// What policies see as `request.headers`.
fn all_headers(headers: &HeaderMap) -> Arc<str> {
    let all: Map<String, Value> = headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), Value::from(value))
        })
        .collect();
    Value::Object(all).to_string().into()
}
