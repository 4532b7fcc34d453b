//! Which changes a channel asks for, and whether the server agreed to the same.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChangeKind;
use super::pg::Filter;
use crate::realtime::{Changes, Channel, RealtimeError};

/// What happens to a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Event {
    /// Anything.
    #[default]
    #[serde(rename = "*")]
    All,
    /// It is new.
    #[serde(rename = "INSERT")]
    Insert,
    /// It was changed.
    #[serde(rename = "UPDATE")]
    Update,
    /// It is gone.
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
pub(in crate::realtime) struct Wanted {
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

/// An entry of the answer.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::realtime) struct Agreed {
    /// By which changes will name it.
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

impl Wanted {
    /// Whether the server speaks of the same.
    pub(in crate::realtime) fn is_same(&self, agreed: &Agreed) -> bool {
        self.event.name() == agreed.event
            && self.schema == agreed.schema
            && self.table == agreed.table
            && self.filter == agreed.filter
    }
}

/// Asks for changes of rows; see [`Channel::on_postgres`].
#[must_use = "nothing is heard before `listen`"]
pub struct ChangesRequest {
    channel: Channel,
    wanted: Wanted,
}

impl ChangesRequest {
    pub(in crate::realtime) fn new(channel: Channel, event: Event) -> Self {
        let wanted = Wanted {
            event,
            ..Wanted::default()
        };
        Self { channel, wanted }
    }

    /// Of tables in this schema. With a table and without this, it is `public`.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.wanted.schema = Some(name.into());
        self
    }

    /// Of this table.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.wanted.table = Some(name.into());
        self
    }

    /// Of rows that fit. It needs the names of a table and of its schema.
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
        self.wanted.filter = Some(filter.into().to_string());
        self
    }

    /// Only these columns of theirs, and the primary key.
    pub fn select(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wanted.select = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Listens, and reads new rows as this type. Has to be called before the channel is
    /// subscribed.
    pub fn listen<T>(self) -> Result<Changes<T>, RealtimeError> {
        self.channel.listen_to_changes(self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            event: Event::Insert,
            schema: Some("public".to_owned()),
            table: Some("t".to_owned()),
            ..Wanted::default()
        }
    }

    #[test]
    fn what_was_not_said_is_not_sent() {
        let sent = |wanted: &Wanted| serde_json::to_value(wanted).unwrap();

        assert_eq!(sent(&Wanted::default()), json!({ "event": "*" }));
        let all = Wanted {
            filter: Some("id=eq.1".to_owned()),
            select: vec!["id".to_owned()],
            ..wanted()
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
        let agrees = |agreed: Value| wanted().is_same(&serde_json::from_value(agreed).unwrap());

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
