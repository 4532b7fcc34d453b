//! What a join asks for (§5.1). What cannot be understood counts as not said: a join never fails
//! for the form of its payload.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::protocol::RawObject;

/// A join's payload, understood.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    /// Whether broadcasts are answered.
    pub(crate) acks: bool,
    /// Whether the sender gets its own.
    pub(crate) gets_own: bool,
    /// Messages of the database that were sent before, as they were asked for.
    pub(crate) replay: Option<Value>,
    /// Whether it shall be told when the database's broadcasts arrive.
    pub(crate) replication_ready: bool,
    pub(crate) presence_key: Option<String>,
    pub(crate) wants_presence: bool,
    /// The row changes asked for, each as it was sent.
    pub(crate) changes: Vec<Box<RawValue>>,
    pub(crate) is_private: bool,
    /// A token of the user's, if it is one.
    pub(crate) token: Option<String>,
    /// What was not understood.
    pub(crate) complaints: Vec<&'static str>,
}

impl Wish {
    pub(crate) fn read(payload: &RawValue) -> Self {
        let mut wish = Self::default();
        let Some(payload) = RawObject::read(payload) else {
            wish.complaints.push("payload");
            return wish;
        };
        wish.token = ["user_token", "access_token"]
            .iter()
            .find_map(|name| read::<String>(payload.get(name)?));
        let Some(config) = payload.get("config") else {
            return wish;
        };
        let Some(config) = RawObject::read(config) else {
            wish.complaints.push("config");
            return wish;
        };
        let section = |name| {
            config
                .get(name)
                .and_then(RawObject::read)
                .unwrap_or_default()
        };
        let broadcast = section("broadcast");
        wish.acks = wish.flag(&broadcast, "ack");
        wish.gets_own = wish.flag(&broadcast, "self");
        wish.replication_ready = wish.flag(&broadcast, "replication_ready");
        wish.replay = broadcast.get("replay").and_then(read::<Value>);
        wish.replay.take_if(|replay| replay.is_null());
        let presence = section("presence");
        wish.wants_presence = wish.flag(&presence, "enabled");
        wish.presence_key = presence.get("key").and_then(|key| wish.key(key));
        wish.is_private = wish.flag(&config, "private");
        if let Some(changes) = config.get("postgres_changes") {
            match read::<Option<Vec<Box<RawValue>>>>(changes) {
                Some(changes) => wish.changes = changes.unwrap_or_default(),
                None => wish.complaints.push("postgres_changes"),
            }
            wish.changes.retain(|entry| entry.get() != "null");
        }
        wish
    }

    /// A boolean, or one of its names in any case.
    fn flag(&mut self, section: &RawObject, name: &'static str) -> bool {
        let value = section.get(name).and_then(read::<Value>);
        let flag = match &value {
            None | Some(Value::Null) => Some(false),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Some(true),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Some(false),
            Some(_) => None,
        };
        if flag.is_none() {
            self.complaints.push(name);
        }
        flag.unwrap_or_default()
    }

    /// A text or a number; an empty one is none.
    fn key(&mut self, key: &RawValue) -> Option<String> {
        let key = match read::<Value>(key) {
            Some(Value::String(text)) => Some(text),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null) => None,
            _ => {
                self.complaints.push("key");
                None
            }
        };
        key.filter(|key| !key.is_empty())
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wish(payload: Value) -> Wish {
        let text = payload.to_string();
        Wish::read(&RawValue::from_string(text).expect("JSON"))
    }

    #[test]
    fn everything_that_can_be_asked_for() {
        let wish = wish(json!({
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

        assert!(wish.acks && wish.gets_own && wish.replication_ready);
        assert!(wish.wants_presence && wish.is_private);
        assert_eq!(wish.replay, Some(json!({"since": 1})));
        assert_eq!(wish.presence_key.as_deref(), Some("7"));
        assert_eq!(wish.changes.len(), 1);
        assert_eq!(wish.token.as_deref(), Some("t"));
        assert!(wish.complaints.is_empty());
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        for payload in [
            json!({}),
            json!({"config": {}}),
            json!({"config": {"private": null}}),
        ] {
            let wish = wish(payload);
            assert!(!wish.acks && !wish.gets_own && !wish.is_private && !wish.wants_presence);
            assert!(wish.changes.is_empty() && wish.complaints.is_empty());
            assert_eq!(wish.presence_key, None);
        }
    }

    #[test]
    fn bad_parts_count_as_not_said_and_good_ones_stay() {
        let wish = wish(json!({
            "config": {
                "broadcast": {"ack": 1, "self": true},
                "presence": {"key": {}},
                "postgres_changes": {},
            },
        }));

        assert!(!wish.acks && wish.gets_own);
        assert_eq!(wish.presence_key, None);
        assert_eq!(wish.complaints, ["ack", "key", "postgres_changes"]);
        assert_eq!(super::Wish::read(RawValue::NULL).complaints, ["payload"]);
    }

    #[test]
    fn the_older_name_of_the_token_wins_when_it_is_one() {
        let token = |payload| wish(payload).token;
        let both = json!({"user_token": "u", "access_token": "a"});
        assert_eq!(token(both).as_deref(), Some("u"));
        let one = json!({"user_token": null, "access_token": "a"});
        assert_eq!(token(one).as_deref(), Some("a"));
        assert_eq!(token(json!({"access_token": null})), None);
    }

    #[test]
    fn empty_keys_are_none() {
        for key in [json!(""), Value::Null] {
            let wish = wish(json!({"config": {"presence": {"key": key}}}));
            assert_eq!(wish.presence_key, None);
        }
    }
}
