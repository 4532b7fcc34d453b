//! `POST /api/broadcast`: many messages at once (§6.3).

use std::collections::HashMap;

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use plinth_project::Project;
use serde_json::{Map, Value, json, value::RawValue};

use super::{error::HttpError, sender::Sender};
use crate::{
    protocol::{Body, Broadcast, RawObject, UserBroadcast},
    service::RealtimeService,
};

pub(crate) async fn broadcast_batch(
    State(service): State<RealtimeService>,
    project: Project,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, HttpError> {
    let sender = Sender::verify(&service, project, &headers)?;
    let messages = read(&body, sender.config.max_payload_bytes)?;
    sender.check_rate(messages.len())?;
    let mut allowed: HashMap<&str, bool> = HashMap::new();
    for message in &messages {
        if message.is_private {
            let may_write = match allowed.get(&*message.topic) {
                Some(known) => *known,
                None => sender.may_write(&message.topic).await?,
            };
            allowed.insert(&message.topic, may_write);
            // Whoever may not speak is not told so.
            if !may_write {
                continue;
            }
        }
        sender.send(&message.topic, message.is_private, &message.broadcast);
    }
    let mut response = StatusCode::ACCEPTED.into_response();
    sender.tell_rate(&mut response);
    Ok(response)
}

#[derive(Debug)]
struct Message {
    topic: String,
    is_private: bool,
    broadcast: Broadcast,
}

/// All messages, or what is wrong with each of them.
fn read(body: &[u8], max_payload_bytes: usize) -> Result<Vec<Message>, HttpError> {
    let body: &RawValue = serde_json::from_slice(body).map_err(|_| HttpError::NotJson)?;
    let whole = |what: &str| HttpError::Invalid(json!({ "messages": [what] }));
    let body = RawObject::read(body).unwrap_or_default();
    let messages = match body.get("messages") {
        None => return Err(whole("can't be blank")),
        Some(raw) if raw.get() == "null" => return Err(whole("can't be blank")),
        Some(raw) => serde_json::from_str::<Vec<&RawValue>>(raw.get()),
    };
    let messages = messages.map_err(|_| whole("is invalid"))?;
    if messages.is_empty() {
        return Err(whole("can't be blank"));
    }
    let read: Vec<_> = messages
        .into_iter()
        .map(|message| read_one(message, max_payload_bytes))
        .collect();
    if read.iter().any(Result::is_err) {
        let errors: Vec<Value> = read
            .into_iter()
            .map(|message| Value::Object(message.err().unwrap_or_default()))
            .collect();
        return Err(HttpError::Invalid(json!({ "messages": errors })));
    }
    Ok(read.into_iter().flatten().collect())
}

fn read_one(message: &RawValue, max_payload_bytes: usize) -> Result<Message, Map<String, Value>> {
    let object = RawObject::read(message).unwrap_or_default();
    let mut errors = Map::new();
    let topic = text(&object, "topic", &mut errors);
    let event = text(&object, "event", &mut errors);
    let is_private = match object.get("private").map(RawValue::get) {
        None | Some("null" | "false" | "\"false\"") => false,
        Some("true" | "\"true\"") => true,
        Some(_) => complain(&mut errors, "private", "is invalid"),
    };
    let id = object.get("id").filter(|raw| raw.get() != "null");
    let payload = object.get("payload").filter(|raw| raw.get() != "null");
    let payload = payload.map_or("", RawValue::get);
    if payload.is_empty() {
        complain::<()>(&mut errors, "payload", "can't be blank");
    } else if !payload.starts_with('{') {
        complain::<()>(&mut errors, "payload", "is invalid");
    } else if payload.len() > max_payload_bytes {
        complain::<()>(&mut errors, "payload", "Payload size exceeds tenant limit");
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Message {
        topic,
        is_private,
        broadcast: Broadcast::User(UserBroadcast {
            event: event.into(),
            body: Body::Json(payload.to_owned().into()),
            meta: id.map(|id| format!("{{\"id\":{}}}", id.get()).into()),
        }),
    })
}

fn text(object: &RawObject, name: &str, errors: &mut Map<String, Value>) -> String {
    let value = object
        .get(name)
        .map(|raw| serde_json::from_str::<Value>(raw.get()));
    match value {
        None | Some(Ok(Value::Null)) => complain(errors, name, "can't be blank"),
        Some(Ok(Value::String(text))) if text.trim().is_empty() => {
            complain(errors, name, "can't be blank")
        }
        Some(Ok(Value::String(text))) => text,
        Some(_) => complain(errors, name, "is invalid"),
    }
}

fn complain<T: Default>(errors: &mut Map<String, Value>, name: &str, what: &str) -> T {
    errors.insert(name.to_owned(), json!([what]));
    T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(body: Value) -> Value {
        match read(body.to_string().as_bytes(), 100) {
            Err(HttpError::Invalid(errors)) => errors,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_are_read_with_their_payload_as_it_was_written() {
        let body = br#"{"messages":[{"topic":"a","event":"e","payload":{ "n": 1.0 },"id":"7"}]}"#;

        let messages = read(body, 100).expect("good");

        assert_eq!(messages.len(), 1);
        assert!(!messages[0].is_private);
        let Broadcast::User(user) = &messages[0].broadcast else {
            panic!("{messages:?}");
        };
        assert_eq!(user.body, Body::Json(r#"{ "n": 1.0 }"#.into()));
        assert_eq!(user.meta.as_deref(), Some(r#"{"id":"7"}"#));
    }

    #[test]
    fn one_bad_message_refuses_all_and_each_is_told_its_own() {
        let good = json!({"topic": "a", "event": "e", "payload": {}});
        let bad = json!({"topic": "a", "private": 7});

        assert_eq!(
            errors(json!({"messages": [bad, good]})),
            json!({"messages": [
                {
                    "event": ["can't be blank"],
                    "payload": ["can't be blank"],
                    "private": ["is invalid"],
                },
                {},
            ]})
        );
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        let blank = json!({"messages": ["can't be blank"]});
        assert_eq!(errors(json!({})), blank);
        assert_eq!(errors(json!([])), blank);
        assert_eq!(errors(json!({"messages": null})), blank);
        assert_eq!(
            errors(json!({"messages": 7})),
            json!({"messages": ["is invalid"]})
        );
        assert!(matches!(read(b"{", 100), Err(HttpError::NotJson)));
    }

    #[test]
    fn a_payload_is_an_object_of_bounded_size() {
        let of = |payload| json!({"messages": [{"topic": "a", "event": "e", "payload": payload}]});
        let invalid = json!({"messages": [{"payload": ["is invalid"]}]});
        assert_eq!(errors(of(json!([1]))), invalid);
        assert_eq!(
            errors(of(json!({"x": "y".repeat(200)}))),
            json!({"messages": [{"payload": ["Payload size exceeds tenant limit"]}]})
        );
    }
}
