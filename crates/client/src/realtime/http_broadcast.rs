//! Broadcasts over HTTP (realtime contract §6.4).

use std::fmt;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use url::Url;

use super::event::Payload;
use super::{Channel, RealtimeError};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::{HttpResponse, Outgoing, client_info};

/// A broadcast over HTTP; see [`Channel::send_http`].
#[must_use = "nothing is sent before `send`"]
pub struct HttpBroadcast {
    channel: Channel,
    event: String,
    payload: Result<Payload, RealtimeError>,
    persist: Option<(&'static str, String)>,
    options: CallOptions,
}

with_call_options!(HttpBroadcast);

impl HttpBroadcast {
    pub(super) fn new(
        channel: Channel,
        event: &str,
        payload: Result<Payload, RealtimeError>,
    ) -> Self {
        Self {
            channel,
            event: event.to_owned(),
            payload,
            persist: None,
            options: CallOptions::default(),
        }
    }

    /// Has the server store it for [replays](super::Replay), if supported. Only on private channels.
    pub fn persist(mut self) -> Self {
        self.persist = Some(("persist", "true".to_owned()));
        self
    }

    /// Stores it for a limited time, in the server's notation.
    pub fn persist_for(mut self, ttl: impl fmt::Display) -> Self {
        self.persist = Some(("persist[ttl]", ttl.to_string()));
        self
    }

    /// Sends it; returns when the server has accepted it. The timeout is 10 s unless
    /// [`timeout`](Self::timeout) sets another one.
    pub async fn send(self) -> Result<(), RealtimeError> {
        let environment = &self.channel.0.shared.environment;
        let http = &environment.base.http;
        let usual = environment
            .base
            .timeout
            .unwrap_or(environment.options.timeout);
        let limit = self.options.timeout.unwrap_or(usual);
        let response = http.within(Some(limit), async {
            let token = environment.tokens.token().await?;
            let request = self.request(token.as_deref(), limit)?;
            Ok::<_, RealtimeError>(http.send(request).await?)
        });
        let response = response.await??;
        match response.status {
            202 => Ok(()),
            _ => Err(rejection_error(&response)),
        }
    }

    fn request(&self, token: Option<&str>, limit: Duration) -> Result<Outgoing, RealtimeError> {
        let unsendable = RealtimeError::InvalidInput("a header cannot be sent as given");
        if self.options.is_unsendable {
            return Err(unsendable);
        }
        let (content_type, body) = match self.payload.as_ref().map_err(Clone::clone)? {
            Payload::Json(json) => ("application/json", json),
            Payload::Bytes(bytes) => ("application/octet-stream", bytes),
        };
        let base = &self.channel.0.shared.environment.base;
        let mut request = Outgoing::new(Method::POST, self.url()?);
        request.headers = base.headers.clone();
        for (name, value) in &self.options.headers {
            request.headers.insert(name, value.clone());
        }
        let kind = HeaderValue::from_static(content_type);
        request.headers.insert(header::CONTENT_TYPE, kind);
        request.default_key(&base.key);
        let bearer = format!("Bearer {}", token.unwrap_or(&base.key));
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| unsendable)?;
        bearer.set_sensitive(true);
        request
            .headers
            .entry(header::AUTHORIZATION)
            .or_insert(bearer);
        request.default_header(HeaderName::from_static("x-client-info"), &client_info());
        request.body = body.clone();
        request.timeout = Some(limit);
        Ok(request)
    }

    /// Channel and event names are path segments.
    fn url(&self) -> Result<String, RealtimeError> {
        let invalid = RealtimeError::InvalidInput("this name cannot be part of an address");
        let names = [self.channel.name(), &self.event];
        if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
            return Err(invalid);
        }
        if self.persist.is_some() && !self.channel.is_private() {
            return Err(RealtimeError::InvalidInput(
                "only what is said on private channels is kept",
            ));
        }
        let base = &self.channel.0.shared.environment.base;
        let root = base.url.service("realtime/v1/api/broadcast");
        let mut url = Url::parse(&root).map_err(|_| invalid.clone())?;
        url.path_segments_mut()
            .map_err(|()| invalid)?
            .extend([names[0], "events", names[1]]);
        if self.channel.is_private() {
            url.query_pairs_mut().append_pair("private", "true");
        }
        if let Some((name, value)) = &self.persist {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url.into())
    }
}

fn rejection_error(response: &HttpResponse) -> RealtimeError {
    let status = response.status;
    if status == 404 {
        return RealtimeError::Http {
            status,
            message: "the server is too old for broadcasts of this kind".to_owned(),
        };
    }
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let said = body.get("error").or_else(|| body.get("message"));
    let said = said.and_then(Value::as_str).map(str::to_owned);
    RealtimeError::Http {
        status,
        message: said.unwrap_or_else(|| format!("the server responded with status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::Client;

    fn url(name: &str, is_private: bool, event: &str) -> Option<String> {
        let client = Client::new("http://a.test/base", "k").unwrap();
        let channel = client.channel(name);
        let channel = if is_private {
            channel.private()
        } else {
            channel
        };
        channel.build().unwrap().send_http(event, &1).url().ok()
    }

    #[test]
    fn names_are_parts_of_the_path_whatever_is_in_them() {
        let root = "http://a.test/base/realtime/v1/api/broadcast";

        assert_eq!(
            url("room", false, "e"),
            Some(format!("{root}/room/events/e"))
        );
        assert_eq!(
            url("a/b?c#d%", true, "ü x"),
            Some(format!(
                "{root}/a%2Fb%3Fc%23d%25/events/%C3%BC%20x?private=true"
            ))
        );
        for name in [".", ".."] {
            assert_eq!(url(name, false, "e"), None);
            assert_eq!(url("a", false, name), None);
        }
    }

    #[tokio::test]
    async fn only_private_messages_are_kept() {
        let client = Client::new("http://a.test", "k").unwrap();
        let public = client.channel("a").build().unwrap();
        let private = client.channel("b").private().build().unwrap();

        assert!(public.send_http("e", &1).persist().url().is_err());
        let kept = private.send_http("e", &1).persist().url().unwrap();
        assert!(kept.ends_with("?private=true&persist=true"), "{kept}");
        let kept = private.send_http("e", &1).persist_for("1h").url().unwrap();
        assert!(kept.ends_with("&persist%5Bttl%5D=1h"), "{kept}");
    }
}
