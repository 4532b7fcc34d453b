//! `GET /platform/events`: what happens on the platform, as server-sent events (console contract F91).

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue},
    response::sse::{Event as SseEvent, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;

use super::{Operator, api_keys::rfc3339, body::Params, logs, openapi::EventStream};
use crate::{
    Platform, PlatformError,
    events::{Event, Subscription},
};

/// Heartbeat of a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After which a browser connects again.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
pub(super) struct EventParams {
    /// Only of this project.
    #[serde(default)]
    project: Option<String>,
    /// For clients that cannot send `Last-Event-ID`.
    #[serde(default)]
    last_event_id: Option<String>,
}

/// What stands in `data`.
#[derive(Serialize, JsonSchema)]
pub(super) struct EventBody {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Depends on the type.
    #[serde(flatten)]
    details: Map<String, Value>,
}

/// With `Last-Event-ID`, first what was missed since. If that cannot be told any more, an event
/// `reset` comes instead: read everything again. A stream without it begins with an event `ready`.
pub(super) async fn stream(
    operator: Operator,
    State(platform): State<Platform>,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<EventStream<EventBody>, PlatformError> {
    let project = match &params.project {
        Some(name) => {
            let name = operator.project_by_name(&platform, name)?;
            Some(platform.reference_of(&name).to_string())
        }
        None => None,
    };
    let last = headers.get("last-event-id").map(HeaderValue::to_str);
    let last = match last {
        Some(Ok(text)) if !text.is_empty() => Some(text),
        Some(Err(_)) => return Err(invalid_id("")),
        _ => params.last_event_id.as_deref(),
    };
    let last = last
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().map_err(|_| invalid_id(text)))
        .transpose()?;
    let subscription = platform.0.events.subscribe(&platform, last).await?;
    let feed = Feed::new(&platform, &operator, project, last, subscription);
    let events = feed
        .into_stream()
        .take_until(operator.until_token_ends(platform));
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(EventStream::new((logs::stream_headers(), sse)))
}

fn invalid_id(text: &str) -> PlatformError {
    PlatformError::Invalid(format!("Last-Event-ID: {text:?} is no id of an event"))
}

/// One open stream.
struct Feed {
    platform: Platform,
    operator: Operator,
    project: Option<String>,
    /// The id of the latest event that was sent or passed over.
    last: i64,
    /// To be sent before everything else: `ready` or `reset`.
    opening: Option<&'static str>,
    missed: VecDeque<Arc<Event>>,
    live: tokio::sync::broadcast::Receiver<Arc<Event>>,
}

impl Feed {
    fn new(
        platform: &Platform,
        operator: &Operator,
        project: Option<String>,
        last: Option<i64>,
        subscription: Subscription,
    ) -> Self {
        let opening = match (&subscription.missed, last) {
            (None, _) => Some("reset"),
            (Some(_), None) => Some("ready"),
            (Some(_), Some(_)) => None,
        };
        Self {
            platform: platform.clone(),
            operator: operator.clone(),
            project,
            last: match (&subscription.missed, last) {
                (Some(_), Some(last)) => last,
                _ => subscription.latest,
            },
            opening,
            missed: subscription.missed.unwrap_or_default().into(),
            live: subscription.live,
        }
    }

    fn into_stream(self) -> impl Stream<Item = Result<SseEvent, Infallible>> {
        let shutdown = self.platform.0.shutdown.clone();
        stream::unfold((self, shutdown), async |(mut feed, shutdown)| {
            let event = shutdown.run_until_cancelled(feed.next()).await??;
            Some((Ok(event), (feed, shutdown)))
        })
    }

    /// The next event that the operator may see; `None` ends the stream.
    async fn next(&mut self) -> Option<SseEvent> {
        if let Some(kind) = self.opening.take() {
            let body = EventBody {
                r#type: kind.to_owned(),
                project: None,
                at: None,
                details: Map::new(),
            };
            let event = SseEvent::default().retry(RETRY).event(kind);
            return event.id(self.last.to_string()).json_data(body).ok();
        }
        loop {
            let event = match self.missed.pop_front() {
                Some(event) => event,
                None => match self.live.recv().await {
                    Ok(event) => event,
                    Err(RecvError::Lagged(_)) => {
                        self.read_again().await?;
                        if self.opening.is_some() {
                            return Box::pin(self.next()).await;
                        }
                        continue;
                    }
                    Err(RecvError::Closed) => return None,
                },
            };
            match event.id {
                Some(id) if id <= self.last => continue,
                Some(id) => self.last = id,
                None => {}
            }
            if self.is_visible(&event) {
                return render(&event);
            }
        }
    }

    /// After the stream was too slow: what it missed is read from the ring.
    async fn read_again(&mut self) -> Option<()> {
        let hub = &self.platform.0.events;
        let subscription = hub.subscribe(&self.platform, Some(self.last)).await.ok()?;
        *self = Self::new(
            &self.platform,
            &self.operator,
            self.project.take(),
            Some(self.last),
            subscription,
        );
        Some(())
    }

    /// Events of no project concern the whole installation.
    fn is_visible(&self, event: &Event) -> bool {
        let Some(project) = &event.project else {
            return self.project.is_none() && self.operator.sees_instance();
        };
        self.project.as_ref().is_none_or(|wanted| wanted == project)
            && self.operator.can_see(&self.platform, project)
    }
}

fn render(event: &Event) -> Option<SseEvent> {
    let body = EventBody {
        r#type: event.kind.clone(),
        project: event.project.clone(),
        at: Some(rfc3339(event.at)),
        details: event.details.clone(),
    };
    let mut rendered = SseEvent::default().event(&event.kind);
    if let Some(id) = event.id {
        rendered = rendered.id(id.to_string());
    }
    rendered.json_data(body).ok()
}
