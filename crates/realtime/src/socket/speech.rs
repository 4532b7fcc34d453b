//! What is said on a joined channel: broadcasts (§6.1), presence (§7.1), tokens (§8.1).

use serde_json::{Value, value::RawValue};

use super::{
    conversation::{Conversation, Outcome, WriteAnswer},
    log::Severity,
};
use crate::{
    authorize::{AuthorizeError, Extension},
    channel::{Channel, Writing},
    clock::now,
    cluster::Said,
    identity::Identity,
    protocol::{Broadcast, Incoming, Payload, RawObject},
    rooms::Hearing,
};

impl Conversation {
    /// A frame on a channel that is joined.
    pub(super) fn speak(&mut self, incoming: Incoming) {
        match &*incoming.event {
            "broadcast" => self.broadcast(incoming),
            "presence" => self.presence(incoming),
            "access_token" => self.take_token(&incoming),
            event => {
                self.scene.hub.events.add(1);
                let what = format_args!("{event:?} means nothing here");
                self.scene.log.note(Severity::Info, "UnknownEvent", what);
            }
        }
    }

    fn broadcast(&mut self, incoming: Incoming) {
        let config = self.scene.config();
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let (acks, may_write) = (channel.acks, channel.writing.broadcast);
        let (room, sender) = (channel.room.clone(), channel.member.id);
        let size = match &incoming.payload {
            Payload::Json(payload) => payload.get().len(),
            Payload::Broadcast(user) => user.body.len(),
            Payload::Bytes => return,
        };
        if size > config.max_payload_bytes {
            if acks {
                self.answer(&incoming, false, r#"{"error":"payload_size_exceeded"}"#);
            }
            return;
        }
        if self.scene.hub.events_per_second() >= config.max_events {
            return self.hold_to_limit(
                &incoming.topic,
                "MessagePerSecondRateLimitReached",
                "Too many messages per second",
            );
        }
        match may_write {
            None => return self.ask(incoming, Extension::Broadcast),
            // Whoever may not speak is not told so.
            Some(false) => return,
            Some(true) => {}
        }
        let answer = acks.then(|| self.answer_to(&incoming, true, "{}"));
        let broadcast = match incoming.payload {
            Payload::Json(payload) => Broadcast::Verbatim(Box::from(payload.get())),
            Payload::Broadcast(user) => Broadcast::User(user),
            Payload::Bytes => return,
        };
        let told = room.broadcast(&broadcast, Some(sender));
        self.scene.hub.events.add(1 + told as u64);
        self.scene.hub.numbers.broadcast_bytes.record(size as f64);
        room.say_elsewhere(Said::Broadcast {
            id: None,
            broadcast,
        });
        if let Some(answer) = answer {
            self.say(answer);
        }
    }

    fn presence(&mut self, incoming: Incoming) {
        let config = self.scene.config();
        let Payload::Json(payload) = &incoming.payload else {
            return;
        };
        let payload = RawObject::read(payload).unwrap_or_default();
        if payload.get("event").is_none() {
            return self.answer(&incoming, true, "{}");
        }
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        if channel
            .presence_calls
            .exceed(config.presence_calls, config.presence_window)
        {
            return self.hold_to_limit(
                &incoming.topic,
                "ClientPresenceRateLimitReached",
                "Client presence rate limit exceeded",
            );
        }
        let hub = &self.scene.hub;
        if hub.presence_events_per_second() >= config.max_presence_events {
            return self.hold_to_limit(
                &incoming.topic,
                "PresenceRateLimitReached",
                "Too many presence messages per second",
            );
        }
        hub.presence_events.add(1);
        self.present(incoming, &payload);
    }

    /// The same, once it is counted.
    fn present(&mut self, incoming: Incoming, payload: &RawObject) {
        let event = payload.get("event");
        let event: Option<String> = event.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let event = event.map(|event| event.to_lowercase());
        match event.as_deref() {
            Some("track") => self.track(incoming, payload.get("payload")),
            Some("untrack") => {
                let answer = self.answer_to(&incoming, true, "{}");
                let Some(channel) = self.channel(&incoming.topic) else {
                    return;
                };
                let told = channel.room.untrack(&channel.member, answer);
                self.scene.hub.presence_events.add(told as u64);
            }
            _ => self.answer(&incoming, false, "{}"),
        }
    }

    fn track(&mut self, incoming: Incoming, payload: Option<&RawValue>) {
        let object = match payload {
            None => Some(RawObject::default()),
            Some(raw) => RawObject::read(raw),
        };
        let Some(object) = object else {
            let response = r#"{"reason":"Presence track payload must be a map"}"#;
            return self.answer(&incoming, false, response);
        };
        let size = payload.map_or(0, |raw| raw.get().len());
        if size > self.scene.config().max_payload_bytes {
            return self.fail(&incoming.topic, "Track message size exceeded");
        }
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        match channel.writing.presence {
            None => return self.ask(incoming, Extension::Presence),
            Some(false) => return self.answer(&incoming, false, "{}"),
            Some(true) => {}
        }
        channel.has_presence = true;
        self.scene.hub.numbers.presence_bytes.record(size as f64);
        // The refs are the server's.
        let members = object.without(&["phx_ref", "phx_ref_prev"]).members();
        let answer = self.answer_to(&incoming, true, "{}");
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let told = channel
            .room
            .track(&channel.member, &channel.presence_key, &members, answer);
        self.scene.hub.presence_events.add(told as u64);
    }

    /// Asks the policies; the frame comes back with the answer.
    fn ask(&mut self, incoming: Incoming, extension: Extension) {
        let scene = self.scene.clone();
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let asker = channel.asker(&channel.identity, &scene.headers);
        // Who tracks without having asked for presence may hear of it from now on.
        let asks_hearing = extension == Extension::Presence && !channel.has_presence;
        self.set_busy(&incoming.topic, true);
        self.work.push(Box::pin(async move {
            let (db, numbers) = (&scene.project.db, &scene.hub.numbers);
            let answer = async {
                let may_write = numbers.writing(asker.may_write(db, extension)).await?;
                let hearing = match asks_hearing {
                    true => Some(numbers.reading(asker.hearing(db, true)).await?),
                    false => None,
                };
                Ok(WriteAnswer { may_write, hearing })
            };
            let answer = answer.await;
            Outcome::Written(Box::new(incoming), answer)
        }));
    }

    pub(super) fn speak_when_asked(
        &mut self,
        incoming: Incoming,
        answer: Result<WriteAnswer, AuthorizeError>,
    ) {
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let extension = match &*incoming.event {
            "presence" => Extension::Presence,
            _ => Extension::Broadcast,
        };
        let answer = match answer {
            Ok(answer) => answer,
            // The next frame asks again: that nobody could tell is no answer to remember.
            Err(error) => {
                tracing::warn!(code = "UnableToSetPolicies", "{error}");
                if extension == Extension::Presence {
                    self.answer(&incoming, false, "{}");
                }
                return;
            }
        };
        match extension {
            Extension::Broadcast => channel.writing.broadcast = Some(answer.may_write),
            Extension::Presence => channel.writing.presence = Some(answer.may_write),
        }
        if let Some(hearing) = answer.hearing {
            channel.has_presence = true;
            channel.member.set_hearing(hearing);
        }
        match (extension, &incoming.payload) {
            (Extension::Presence, Payload::Json(payload)) => {
                let payload = RawObject::read(payload).unwrap_or_default();
                self.present(incoming, &payload);
            }
            _ => self.broadcast(incoming),
        }
    }

    /// The client shows another token.
    fn take_token(&mut self, incoming: &Incoming) {
        let scene = self.scene.clone();
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let Payload::Json(payload) = &incoming.payload else {
            return;
        };
        let payload: Option<Value> = serde_json::from_str(payload.get()).ok();
        let token = payload
            .as_ref()
            .and_then(|payload| payload.get("access_token"));
        let token = match token {
            None | Some(Value::Null) => return,
            Some(Value::String(token)) => token.as_str(),
            Some(_) => "",
        };
        if token.starts_with("sb_") || token == &*channel.identity.shown {
            return;
        }
        let identity = match Identity::verify(&scene.project, token, now()) {
            Ok(identity) => identity,
            Err(refusal) => return self.fail(&incoming.topic, &refusal.text()),
        };
        if !channel.room.is_private {
            channel.identity = identity;
            channel.subscribe(&scene.hub, &scene.project.db);
            return;
        }
        let asker = channel.asker(&identity, &scene.headers);
        let wants_presence = channel.has_presence;
        let topic: Box<str> = incoming.topic.clone();
        self.set_busy(&topic, true);
        self.work.push(Box::pin(async move {
            let hearing = asker.hearing(&scene.project.db, wants_presence);
            let hearing = scene.hub.numbers.reading(hearing).await;
            Outcome::Heard(topic, Box::new(identity), hearing)
        }));
    }

    /// A private channel goes on with another token, as far as that may hear.
    pub(super) fn take_over(
        &mut self,
        topic: &str,
        identity: Identity,
        hearing: Result<Hearing, AuthorizeError>,
    ) {
        let scene = self.scene.clone();
        let Some(channel) = self.channel(topic) else {
            return;
        };
        match hearing {
            Ok(hearing) => match lost(channel, hearing) {
                Some(message) => self.fail(topic, &message),
                None => {
                    channel.member.set_hearing(hearing);
                    channel.identity = identity;
                    channel.writing = Writing::UNKNOWN;
                    channel.subscribe(&scene.hub, &scene.project.db);
                }
            },
            Err(error) => {
                let message = match error {
                    AuthorizeError::Policy(cause) => {
                        tracing::warn!(code = "RlsPolicyError", "{cause}");
                        no_permission(channel.sub_topic())
                    }
                    AuthorizeError::Canceled(_) => {
                        "Query was cancelled, please try again".to_owned()
                    }
                    AuthorizeError::MissingPartition
                    | AuthorizeError::NoConnection
                    | AuthorizeError::DatabaseFull(_)
                    | AuthorizeError::NotReady(_)
                    | AuthorizeError::Unavailable(_) => {
                        "Realtime was unable to connect to the project database".to_owned()
                    }
                };
                self.fail(topic, &message);
            }
        }
    }
}

/// What is said to a channel that may hear less than before.
fn lost(channel: &Channel, now: Hearing) -> Option<String> {
    let before = channel.member.hearing();
    let topic = channel.sub_topic();
    if !now.broadcast && !now.presence {
        return Some(no_permission(topic));
    }
    let has_lost = (before.broadcast && !now.broadcast) || (before.presence && !now.presence);
    has_lost
        .then(|| format!("You no longer have permission to read from this Channel topic: {topic}"))
}

fn no_permission(topic: &str) -> String {
    format!("You do not have permissions to read from this Channel topic: {topic}")
}
