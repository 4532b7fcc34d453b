//! `POST /api/broadcast`: a batch of messages (§6.3).

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
    let messages = parse(&body, sender.config.max_payload_bytes)?;
    sender.check_rate(messages.len())?;
    let mut can_write: HashMap<&str, bool> = HashMap::new();
    for message in &messages {
        if message.is_private {
            let is_allowed = match can_write.get(&*message.topic) {
                Some(known) => *known,
                None => sender.can_write(&message.topic).await?,
            };
            can_write.insert(&message.topic, is_allowed);
            // Dropped without an error, by contract.
            if !is_allowed {
                continue;
            }
        }
        sender.send(&message.topic, message.is_private, &message.broadcast);
    }
    let mut response = StatusCode::ACCEPTED.into_response();
    sender.add_rate_headers(&mut response);
    Ok(response)
}

#[derive(Debug)]
struct Message {
    topic: String,
    is_private: bool,
    broadcast: Broadcast,
}

/// All messages, or the errors of each.
fn parse(body: &[u8], max_payload_bytes: usize) -> Result<Vec<Message>, HttpError> {
    let body: &RawValue = serde_json::from_slice(body).map_err(|_| HttpError::NotJson)?;
    let invalid = |what: &str| HttpError::Invalid(json!({ "messages": [what] }));
    let body = RawObject::parse(body).unwrap_or_default();
    let messages = match body.get("messages") {
        None => return Err(invalid("can't be blank")),
        Some(raw) if raw.get() == "null" => return Err(invalid("can't be blank")),
        Some(raw) => serde_json::from_str::<Vec<&RawValue>>(raw.get()),
    };
    let messages = messages.map_err(|_| invalid("is invalid"))?;
    if messages.is_empty() {
        return Err(invalid("can't be blank"));
    }
    let parsed: Vec<_> = messages
        .into_iter()
        .map(|message| parse_message(message, max_payload_bytes))
        .collect();
    if parsed.iter().any(Result::is_err) {
        let errors: Vec<Value> = parsed
            .into_iter()
            .map(|message| Value::Object(message.err().unwrap_or_default()))
            .collect();
        return Err(HttpError::Invalid(json!({ "messages": errors })));
    }
    Ok(parsed.into_iter().flatten().collect())
}

fn parse_message(
    message: &RawValue,
    max_payload_bytes: usize,
) -> Result<Message, Map<String, Value>> {
    let object = RawObject::parse(message).unwrap_or_default();
    let mut errors = Map::new();
    let topic = text(&object, "topic", &mut errors);
    let event = text(&object, "event", &mut errors);
    let is_private = match object.get("private").map(RawValue::get) {
        None | Some("null" | "false" | "\"false\"") => false,
        Some("true" | "\"true\"") => true,
        Some(_) => add_error(&mut errors, "private", "is invalid"),
    };
    let id = object.get("id").filter(|raw| raw.get() != "null");
    let payload = object.get("payload").filter(|raw| raw.get() != "null");
    let payload = payload.map_or("", RawValue::get);
    if payload.is_empty() {
        add_error::<()>(&mut errors, "payload", "can't be blank");
    } else if !payload.starts_with('{') {
        add_error::<()>(&mut errors, "payload", "is invalid");
    } else if payload.len() > max_payload_bytes {
        add_error::<()>(&mut errors, "payload", "Payload size exceeds tenant limit");
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
        None | Some(Ok(Value::Null)) => add_error(errors, name, "can't be blank"),
        Some(Ok(Value::String(text))) if text.trim().is_empty() => {
            add_error(errors, name, "can't be blank")
        }
        Some(Ok(Value::String(text))) => text,
        Some(_) => add_error(errors, name, "is invalid"),
    }
}

fn add_error<T: Default>(errors: &mut Map<String, Value>, name: &str, what: &str) -> T {
    errors.insert(name.to_owned(), json!([what]));
    T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(body: Value) -> Value {
        match parse(body.to_string().as_bytes(), 100) {
            Err(HttpError::Invalid(errors)) => errors,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn payloads_are_kept_verbatim() {
        let body = br#"{"messages":[{"topic":"a","event":"e","payload":{ "n": 1.0 },"id":"7"}]}"#;

        let messages = parse(body, 100).expect("good");

        assert_eq!(messages.len(), 1);
        assert!(!messages[0].is_private);
        let Broadcast::User(user) = &messages[0].broadcast else {
            panic!("{messages:?}");
        };
        assert_eq!(user.body, Body::Json(r#"{ "n": 1.0 }"#.into()));
        assert_eq!(user.meta.as_deref(), Some(r#"{"id":"7"}"#));
    }

    #[test]
    fn one_invalid_message_rejects_the_batch_with_the_errors_of_each() {
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
    fn a_body_without_messages_is_rejected() {
        let blank = json!({"messages": ["can't be blank"]});
        assert_eq!(errors(json!({})), blank);
        assert_eq!(errors(json!([])), blank);
        assert_eq!(errors(json!({"messages": null})), blank);
        assert_eq!(
            errors(json!({"messages": 7})),
            json!({"messages": ["is invalid"]})
        );
        assert!(matches!(parse(b"{", 100), Err(HttpError::NotJson)));
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
