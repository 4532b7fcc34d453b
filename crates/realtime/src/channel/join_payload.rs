//! The payload of a join (§5.1). Invalid fields are treated as absent: a join never fails for the
//! form of its payload.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::protocol::RawObject;

/// A parsed payload. Not `Debug`, because of the token.
#[derive(Default)]
pub(crate) struct JoinPayload {
    /// Whether broadcasts are acknowledged.
    pub(crate) acks: bool,
    /// Whether the sender receives its own broadcasts.
    pub(crate) receives_own: bool,
    /// Which earlier database messages are to be replayed, not yet parsed.
    pub(crate) replay: Option<Value>,
    /// Whether the client waits for a `system` message that the replication stream is up.
    pub(crate) replication_ready: bool,
    pub(crate) presence_key: Option<String>,
    pub(crate) wants_presence: bool,
    /// The `postgres_changes` entries, each as it was sent.
    pub(crate) changes: Vec<Box<RawValue>>,
    pub(crate) is_private: bool,
    /// `user_token`, else `access_token`.
    pub(crate) token: Option<String>,
    /// Names of the fields that were ignored.
    pub(crate) invalid_fields: Vec<&'static str>,
}

impl JoinPayload {
    pub(crate) fn parse(payload: &RawValue) -> Self {
        let mut join = Self::default();
        let Some(payload) = RawObject::parse(payload) else {
            join.invalid_fields.push("payload");
            return join;
        };
        join.token = ["user_token", "access_token"]
            .iter()
            .find_map(|name| parse_json::<String>(payload.get(name)?));
        let Some(config) = payload.get("config") else {
            return join;
        };
        let Some(config) = RawObject::parse(config) else {
            join.invalid_fields.push("config");
            return join;
        };
        let section = |name| {
            config
                .get(name)
                .and_then(RawObject::parse)
                .unwrap_or_default()
        };
        let broadcast = section("broadcast");
        join.acks = join.flag(&broadcast, "ack");
        join.receives_own = join.flag(&broadcast, "self");
        join.replication_ready = join.flag(&broadcast, "replication_ready");
        join.replay = broadcast.get("replay").and_then(parse_json::<Value>);
        join.replay.take_if(|replay| replay.is_null());
        let presence = section("presence");
        join.wants_presence = join.flag(&presence, "enabled");
        join.presence_key = presence.get("key").and_then(|key| join.key(key));
        join.is_private = join.flag(&config, "private");
        if let Some(changes) = config.get("postgres_changes") {
            match parse_json::<Option<Vec<Box<RawValue>>>>(changes) {
                Some(changes) => join.changes = changes.unwrap_or_default(),
                None => join.invalid_fields.push("postgres_changes"),
            }
            join.changes.retain(|entry| entry.get() != "null");
        }
        join
    }

    /// A boolean, or `true` or `false` as a string in any case.
    fn flag(&mut self, section: &RawObject, name: &'static str) -> bool {
        let value = section.get(name).and_then(parse_json::<Value>);
        let flag = match &value {
            None | Some(Value::Null) => Some(false),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Some(true),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Some(false),
            Some(_) => None,
        };
        if flag.is_none() {
            self.invalid_fields.push(name);
        }
        flag.unwrap_or_default()
    }

    /// A string or a number; an empty string counts as absent.
    fn key(&mut self, key: &RawValue) -> Option<String> {
        let key = match parse_json::<Value>(key) {
            Some(Value::String(text)) => Some(text),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null) => None,
            _ => {
                self.invalid_fields.push("key");
                None
            }
        };
        key.filter(|key| !key.is_empty())
    }
}

fn parse_json<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(payload: Value) -> JoinPayload {
        let text = payload.to_string();
        JoinPayload::parse(&RawValue::from_string(text).expect("JSON"))
    }

    #[test]
    fn every_field_is_read() {
        let join = parse(json!({
            "config": {
                "broadcast": {
                    "ack": true, "self": "TRUE", "replay": {"since": 1}, "replication_ready": true,
                },
                "presence": {"key": 7, "enabled": "true"},
                "postgres_changes": [{"event": "*", "schema": "public"}, null],
                "private": true,
            },
            "access_token": "t",
            "version": "realtime-js/2.119.0",
        }));

        assert!(join.acks && join.receives_own && join.replication_ready);
        assert!(join.wants_presence && join.is_private);
        assert_eq!(join.replay, Some(json!({"since": 1})));
        assert_eq!(join.presence_key.as_deref(), Some("7"));
        assert_eq!(join.changes.len(), 1);
        assert_eq!(join.token.as_deref(), Some("t"));
        assert!(join.invalid_fields.is_empty());
    }

    #[test]
    fn everything_is_off_by_default() {
        for payload in [
            json!({}),
            json!({"config": {}}),
            json!({"config": {"private": null}}),
        ] {
            let join = parse(payload);
            assert!(!join.acks && !join.receives_own && !join.is_private && !join.wants_presence);
            assert!(join.changes.is_empty() && join.invalid_fields.is_empty());
            assert_eq!(join.presence_key, None);
        }
    }

    #[test]
    fn invalid_fields_are_ignored_and_valid_ones_stay() {
        let join = parse(json!({
            "config": {
                "broadcast": {"ack": 1, "self": true},
                "presence": {"key": {}},
                "postgres_changes": {},
            },
        }));

        assert!(!join.acks && join.receives_own);
        assert_eq!(join.presence_key, None);
        assert_eq!(join.invalid_fields, ["ack", "key", "postgres_changes"]);
        assert_eq!(
            JoinPayload::parse(RawValue::NULL).invalid_fields,
            ["payload"]
        );
    }

    #[test]
    fn the_older_name_of_the_token_wins_if_it_is_a_string() {
        let token = |payload| parse(payload).token;
        let both = json!({"user_token": "u", "access_token": "a"});
        assert_eq!(token(both).as_deref(), Some("u"));
        let one = json!({"user_token": null, "access_token": "a"});
        assert_eq!(token(one).as_deref(), Some("a"));
        assert_eq!(token(json!({"access_token": null})), None);
    }

    #[test]
    fn empty_keys_count_as_absent() {
        for key in [json!(""), Value::Null] {
            let join = parse(json!({"config": {"presence": {"key": key}}}));
            assert_eq!(join.presence_key, None);
        }
    }
}
