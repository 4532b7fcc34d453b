//! Subscriptions to row changes, and comparing them with what the server confirmed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChangeKind;
use super::pg::Filter;
use crate::realtime::{Changes, Channel, RealtimeError};

/// Kind of row changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Event {
    /// Anything.
    #[default]
    #[serde(rename = "*")]
    All,
    /// Inserts.
    #[serde(rename = "INSERT")]
    Insert,
    /// Updates.
    #[serde(rename = "UPDATE")]
    Update,
    /// Deletes.
    #[serde(rename = "DELETE")]
    Delete,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::All => "*",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    pub(in crate::realtime) fn covers(self, kind: ChangeKind) -> bool {
        match self {
            Self::All => true,
            Self::Insert => kind == ChangeKind::Insert,
            Self::Update => kind == ChangeKind::Update,
            Self::Delete => kind == ChangeKind::Delete,
        }
    }
}

/// An entry of a join's `postgres_changes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(in crate::realtime) struct BindingRequest {
    pub(in crate::realtime) event: Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::realtime) schema: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::realtime) table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::realtime) filter: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::realtime) select: Vec<String>,
}

/// An entry of the reply's `postgres_changes`.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::realtime) struct ConfirmedBinding {
    /// The id that changes refer to.
    #[serde(default)]
    pub(in crate::realtime) id: Value,
    #[serde(default)]
    event: String,
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    table: Option<String>,
    #[serde(default)]
    filter: Option<String>,
}

impl BindingRequest {
    /// Whether the server confirmed this request.
    pub(in crate::realtime) fn is_same(&self, confirmed: &ConfirmedBinding) -> bool {
        self.event.name() == confirmed.event
            && self.schema == confirmed.schema
            && self.table == confirmed.table
            && self.filter == confirmed.filter
    }
}

/// Subscribes to row changes; see [`Channel::on_postgres`].
#[must_use = "nothing is received before `listen`"]
pub struct ChangesRequest {
    channel: Channel,
    request: BindingRequest,
}

impl ChangesRequest {
    pub(in crate::realtime) fn new(channel: Channel, event: Event) -> Self {
        let request = BindingRequest {
            event,
            ..BindingRequest::default()
        };
        Self { channel, request }
    }

    /// Tables in this schema. If only a table is given, it is `public`.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.request.schema = Some(name.into());
        self
    }

    /// This table.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.request.table = Some(name.into());
        self
    }

    /// Rows that match. Requires a schema and a table.
    ///
    /// ```no_run
    /// use plinth_client::realtime::{Event, pg};
    ///
    /// # fn example(channel: plinth_client::realtime::Channel) -> Result<(), Box<dyn std::error::Error>> {
    /// let changes = channel
    ///     .on_postgres(Event::Update)
    ///     .schema("public")
    ///     .table("todos")
    ///     .filter(pg::eq("owner", 7).and(pg::in_("state", ["open", "late"]).not()))
    ///     .listen::<serde_json::Value>()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, filter: impl Into<Filter>) -> Self {
        self.request.filter = Some(filter.into().to_string());
        self
    }

    /// Only these columns, and the primary key.
    pub fn select(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request.select = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Subscribes; new rows are deserialized as this type. Must be called before the channel is
    /// subscribed.
    pub fn listen<T>(self) -> Result<Changes<T>, RealtimeError> {
        self.channel.listen_to_changes(self.request)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> BindingRequest {
        BindingRequest {
            event: Event::Insert,
            schema: Some("public".to_owned()),
            table: Some("t".to_owned()),
            ..BindingRequest::default()
        }
    }

    #[test]
    fn what_was_not_said_is_not_sent() {
        let sent = |request: &BindingRequest| serde_json::to_value(request).unwrap();

        assert_eq!(sent(&BindingRequest::default()), json!({ "event": "*" }));
        let all = BindingRequest {
            filter: Some("id=eq.1".to_owned()),
            select: vec!["id".to_owned()],
            ..request()
        };
        assert_eq!(
            sent(&all),
            json!({
                "event": "INSERT", "schema": "public", "table": "t",
                "filter": "id=eq.1", "select": ["id"],
            })
        );
    }

    #[test]
    fn the_server_has_to_agree_to_the_same() {
        let agrees =
            |confirmed: Value| request().is_same(&serde_json::from_value(confirmed).unwrap());

        assert!(agrees(
            json!({ "id": 1, "event": "INSERT", "schema": "public", "table": "t" })
        ));
        assert!(agrees(
            json!({ "id": 1, "event": "INSERT", "schema": "public", "table": "t", "filter": null })
        ));
        for other in [
            json!({ "event": "*", "schema": "public", "table": "t" }),
            json!({ "event": "INSERT", "schema": "private", "table": "t" }),
            json!({ "event": "INSERT", "schema": "public" }),
            json!({ "event": "INSERT", "schema": "public", "table": "t", "filter": "a=eq.1" }),
            json!({}),
        ] {
            assert!(!agrees(other.clone()), "{other}");
        }
    }
}
