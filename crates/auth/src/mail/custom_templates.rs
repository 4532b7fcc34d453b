//! The project's own templates, from its settings or from a URL that they name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::BytesMut;
use time::{Duration, OffsetDateTime};

use super::kind::Kind;
use crate::{config::TemplateSource, request::RequestContext, template::Template};

/// Longer templates are rejected.
const MAX_BYTES: usize = 1_000_000;
/// How long a fetched template is cached.
const MAX_AGE: Duration = Duration::minutes(10);
/// How long after a failure no fetch is tried.
const RETRY_AFTER: Duration = Duration::seconds(10);

/// The project's templates of one mail; `None` for the default.
#[derive(Debug, Default)]
pub(super) struct CustomTemplates {
    pub(super) subject: Option<Template>,
    pub(super) body: Option<Arc<Template>>,
}

/// Fetched templates by URL.
#[derive(Debug, Default)]
pub(super) struct TemplateCache(Mutex<HashMap<String, Entry>>);

#[derive(Debug, Clone)]
struct Entry {
    /// The last one that was fetched and parsed.
    template: Option<Arc<Template>>,
    /// When to fetch again.
    due: OffsetDateTime,
}

/// Loads the templates of a mail. Unusable ones are logged, and the default is used.
pub(super) async fn load(context: &RequestContext, kind: Kind) -> CustomTemplates {
    let mail = &context.config.mail;
    let subject = mail.subjects.get(kind.template());
    let body = match mail.templates.get(kind.template()) {
        None => None,
        Some(TemplateSource::Text(text)) => parse(kind, "body", text).map(Arc::new),
        Some(TemplateSource::Url(address)) => {
            let fetch = Fetch {
                client: context.service.http(),
                timeout: context.config.http_timeout,
                now: context.now,
            };
            context
                .state
                .mail
                .templates
                .get(&fetch, kind, address)
                .await
        }
    };
    CustomTemplates {
        subject: subject.and_then(|text| parse(kind, "subject", text)),
        body,
    }
}

fn parse(kind: Kind, what: &str, text: &str) -> Option<Template> {
    let parsed = Template::parse(text);
    let template = kind.template();
    parsed
        .inspect_err(|error| {
            tracing::warn!(
                template,
                "cannot parse the {what} template of the mail {template}, using the default: {error}"
            );
        })
        .ok()
}

/// How templates are fetched.
struct Fetch<'a> {
    client: &'a reqwest::Client,
    timeout: std::time::Duration,
    now: OffsetDateTime,
}

impl Fetch<'_> {
    async fn fetch(&self, address: &str) -> Result<String, String> {
        let request = self.client.get(address).timeout(self.timeout);
        let mut response = request.send().await.map_err(|error| error.to_string())?;
        if response.status() != http::StatusCode::OK {
            return Err(format!("the status was {}", response.status()));
        }
        let mut text = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_BYTES {
                return Err(format!("it is longer than {MAX_BYTES} bytes"));
            }
        }
        String::from_utf8(text.to_vec()).map_err(|_| "it is not UTF-8".to_owned())
    }
}

impl TemplateCache {
    /// From the cache, or fetched; an expired one if it cannot be fetched.
    async fn get(&self, fetch: &Fetch<'_>, kind: Kind, address: &str) -> Option<Arc<Template>> {
        let known = self.lock().get(address).cloned();
        if let Some(entry) = known.as_ref().filter(|entry| fetch.now < entry.due) {
            return entry.template.clone();
        }
        let fresh = match fetch.fetch(address).await {
            Ok(text) => parse(kind, "body", &text).map(Arc::new),
            Err(reason) => {
                let template = kind.template();
                tracing::warn!(
                    template,
                    "cannot fetch the template of the mail {template}: {reason}"
                );
                None
            }
        };
        let wait = if fresh.is_some() {
            MAX_AGE
        } else {
            RETRY_AFTER
        };
        let template = fresh.or_else(|| known.and_then(|entry| entry.template));
        let entry = Entry {
            template: template.clone(),
            due: fetch.now + wait,
        };
        self.lock().insert(address.to_owned(), entry);
        template
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
