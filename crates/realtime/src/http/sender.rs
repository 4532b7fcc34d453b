//! Whoever broadcasts over HTTP, and how much of that there may be.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use plinth_project::Project;
use serde_json::{Map, Value};

use super::error::HttpError;
use crate::{
    authorize::{Asker, AuthorizeError, Extension},
    channel::TOPIC_PREFIX,
    clock::now,
    config::RealtimeConfig,
    hub::Hub,
    identity::Identity,
    protocol::Broadcast,
    service::RealtimeService,
};

/// A verified sender.
pub(super) struct Sender {
    project: Project,
    hub: Arc<Hub>,
    pub(super) config: Arc<RealtimeConfig>,
    identity: Identity,
    headers: Arc<str>,
}

impl Sender {
    /// A token in `Authorization`, or else the header `apikey`. Clients without a session send
    /// their key as a token.
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
        let shown = bearer.or_else(|| text("apikey")).unwrap_or_default();
        let identity = Identity::verify(&project, shown, now());
        Ok(Self {
            hub: service.hub(&project),
            config,
            identity: identity.map_err(|_| HttpError::NobodyKnown)?,
            headers: all_headers(headers),
            project,
        })
    }

    /// Whether so many messages may be sent now.
    pub(super) fn check_rate(&self, count: usize) -> Result<(), HttpError> {
        let (average, most) = (self.hub.events_per_second(), self.config.max_events);
        match average {
            _ if average > most => Err(HttpError::RateExceeded),
            _ if average == most => Err(HttpError::AtLimit),
            _ if average + count as u64 > most => Err(HttpError::BatchTooLarge),
            _ => Ok(()),
        }
    }

    /// Whether the policies let the sender broadcast on a private topic.
    pub(super) async fn may_write(&self, sub_topic: &str) -> Result<bool, AuthorizeError> {
        let asker = Asker {
            caller: self.identity.caller.clone(),
            sub_topic: sub_topic.into(),
            headers: self.headers.clone(),
        };
        let asking = asker.may_write(&self.project.db, Extension::Broadcast);
        self.hub.numbers.writing(asking).await
    }

    pub(super) fn send(&self, sub_topic: &str, is_private: bool, broadcast: &Broadcast) {
        let topic = format!("{TOPIC_PREFIX}{sub_topic}");
        self.hub.broadcast(&topic, is_private, broadcast, None);
    }

    /// Tells the client how much it may still send.
    pub(super) fn tell_rate(&self, response: &mut Response) {
        let (average, most) = (self.hub.events_per_second(), self.config.max_events);
        let numbers = [
            ("x-rate-rolling", average),
            ("x-rate-limit", most),
            ("x-rate-limit-remaining", most.saturating_sub(average)),
        ];
        for (name, number) in numbers {
            let headers = response.headers_mut();
            headers.insert(HeaderName::from_static(name), HeaderValue::from(number));
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
