//! Joins on a socket (§5): the checks that need no database, the work in flight, and replies.

use axum::extract::ws::close_code;
use serde_json::value::RawValue;

use super::{
    channels::{Outcome, SocketChannels, unmatched_reply},
    log::Severity,
};
use crate::{
    channel::{ChannelError, JoinError, JoinPayload, PendingJoin, PreparedJoin},
    clock::now,
    identity::{CredentialError, Identity},
    protocol::{IncomingFrame, Payload, TOPIC_PREFIX, close_frame, system_frame},
    stream,
    stream_status::StreamStatus,
    topics::ChannelId,
};

impl SocketChannels {
    pub(super) fn join(&mut self, frame: IncomingFrame) {
        let IncomingFrame {
            join_ref,
            reference,
            topic,
            payload,
            ..
        } = frame;
        let payload = match &payload {
            Payload::Json(payload) => JoinPayload::parse(payload),
            _ => JoinPayload::parse(RawValue::NULL),
        };
        if !payload.invalid_fields.is_empty() {
            let fields = payload.invalid_fields.join(", ");
            let (log, code) = (&self.context.log, "InvalidJoinPayload");
            let what = format_args!("ignoring invalid fields of a join payload: {fields}");
            log.record(Severity::Warning, code, what);
        }
        let replaced = self.remove_channel(&topic).map(|channel| channel.join_ref);
        let config = self.context.config();
        let mut join = PendingJoin {
            wants_presence: payload.wants_presence || config.has_presence,
            topic,
            join_ref,
            reference,
            identity: self.context.identity.clone(),
            payload,
            replaced: replaced.into_iter().collect(),
        };
        match self.check_join(&mut join) {
            Err(error) => self.reject_join(&join, &error),
            Ok(()) if join.is_public() && self.context.hub.link().is_none() => {
                self.complete_join(join, Ok(PreparedJoin::public()));
            }
            Ok(()) => self.prepare_join(join),
        }
    }

    /// All checks that need no database, in the contract's order. Sets the join's identity.
    fn check_join(&mut self, join: &mut PendingJoin) -> Result<(), JoinError> {
        let context = &self.context;
        let config = context.config();
        match join.topic.strip_prefix(TOPIC_PREFIX) {
            None => return Err(JoinError::UnmatchedTopic),
            Some("") => return Err(JoinError::TopicNameRequired),
            Some(_) => {}
        }
        if context.stop.is_cancelled() {
            return Err(JoinError::Restarting);
        }
        if !config.is_enabled {
            return Err(JoinError::Disabled);
        }
        if config.is_private_only && !join.payload.is_private {
            return Err(JoinError::PrivateOnly);
        }
        if self.permit.is_none() {
            self.permit = context.hub.acquire_socket(config.max_sockets);
            if self.permit.is_none() {
                return Err(JoinError::TooManySockets);
            }
        }
        if context.hub.joins_per_second() >= config.max_joins {
            return Err(JoinError::TooManyJoins);
        }
        context.hub.usage.joins.add(1);
        if self.slots.len() >= config.max_channels {
            return Err(JoinError::TooManyChannels);
        }
        join.identity = self.verify_join(join).map_err(JoinError::Credential)?;
        if join.payload.replay.is_some() && !join.payload.is_private {
            return Err(JoinError::ReplayOnPublic);
        }
        Ok(())
    }

    /// The join's own token, or else the socket's credential. An API key in the place of a token is
    /// ignored.
    fn verify_join(&self, join: &PendingJoin) -> Result<Identity, CredentialError> {
        let context = &self.context;
        let token = join.payload.token.as_deref();
        match token.filter(|token| !token.starts_with("sb_")) {
            Some(token) => Identity::verify(&context.project, token, now()),
            None => context
                .identity
                .reverify(&context.project, now())
                .map(|()| context.identity.clone()),
        }
    }

    /// Starts what takes time; the topic's frames wait for it.
    fn prepare_join(&mut self, join: PendingJoin) {
        let slot = self.slots.entry(join.topic.clone()).or_default();
        slot.is_busy = true;
        let context = self.context.clone();
        if join.payload.replay.is_some() {
            stream::ensure_running(
                &context.hub,
                &context.project,
                &context.tasks,
                &context.stop,
            );
        }
        self.work.push(Box::pin(async move {
            let db = &context.project.db;
            let prepared = join.prepare(&context.hub, db, &context.headers).await;
            Outcome::JoinPrepared(Box::new(join), prepared)
        }));
    }

    pub(super) fn complete_join(
        &mut self,
        join: PendingJoin,
        prepared: Result<PreparedJoin, JoinError>,
    ) {
        let prepared = match prepared {
            Ok(prepared) if prepared.has_overflowed() => {
                return self.reject_join(&join, &JoinError::ReplayFailed);
            }
            Ok(prepared) => prepared,
            Err(error) => return self.reject_join(&join, &error),
        };
        let context = self.context.clone();
        let replaced = join.replaced.clone();
        let topic = join.topic.clone();
        let waits_for_replication = join.payload.replication_ready;
        let mut channel = join.complete(&context.hub, context.version, &context.outbound, prepared);
        for join_ref in &replaced {
            self.send(close_frame(context.version, join_ref.as_ref(), &topic));
        }
        stream::ensure_running(
            &context.hub,
            &context.project,
            &context.tasks,
            &context.stop,
        );
        channel.subscribe(&context.hub, &context.project.db);
        if waits_for_replication {
            self.wait_for_replication(&topic, channel.member.id);
        }
        let slot = self.slots.entry(topic).or_default();
        slot.channel = Some(channel);
    }

    /// Waits for the replication stream on behalf of a client that asked for `replication_ready`.
    fn wait_for_replication(&mut self, topic: &str, channel: ChannelId) {
        let mut status = self.context.hub.stream.watch_status();
        let timeout = self.context.config().replication_ready_timeout;
        let topic: Box<str> = topic.into();
        self.work.push(Box::pin(async move {
            let is_up = status.wait_for(|status| matches!(status, StreamStatus::Up { .. }));
            let is_up = tokio::time::timeout(timeout, is_up).await;
            Outcome::ReplicationReady(topic, channel, matches!(is_up, Ok(Ok(_))))
        }));
    }

    pub(super) fn report_replication(&mut self, topic: &str, channel: ChannelId, is_up: bool) {
        let version = self.context.version;
        let joined = self.channel(topic);
        let Some(joined) = joined.filter(|joined| joined.member.id == channel) else {
            return;
        };
        let join_ref = joined.join_ref.clone();
        if is_up {
            self.send(system_frame(
                version,
                join_ref.as_ref(),
                topic,
                "system",
                true,
                "Replication connection established",
            ));
        } else {
            self.close_with_error(topic, &ChannelError::ReplicationTimeout);
        }
    }

    fn reject_join(&mut self, join: &PendingJoin, error: &JoinError) {
        let version = self.context.version;
        let (code, topic) = (error.code(), &join.topic);
        // Both may contain anything that a client can write.
        let reason = error.to_string();
        let what = format_args!("rejecting the join of {topic:?}: {reason:?}");
        self.context.log.record(Severity::Warning, code, what);
        self.context.hub.metrics.count_error(code);
        if self
            .slots
            .get(&join.topic)
            .is_some_and(|slot| slot.channel.is_none() && slot.queued.is_empty())
        {
            self.slots.remove(&join.topic);
        }
        self.release_permit_if_unused();
        let mut messages = match error {
            JoinError::UnmatchedTopic => {
                let reference = join.reference.as_ref();
                vec![unmatched_reply(version, reference, &join.topic)]
            }
            _ => vec![join.error_reply(version, error)],
        };
        let closed = join.replaced.iter();
        messages.extend(closed.map(|old| close_frame(version, old.as_ref(), &join.topic)));
        if error.closes_socket() {
            self.close_code = Some(close_code::AWAY);
        }
        if error.is_immediate() {
            for message in messages {
                self.send(message);
            }
            return;
        }
        // Delayed beside the socket's other work, so that clients which retry at once are slowed
        // down and nothing else is.
        let backoff = self.context.config().channel_error_backoff;
        self.work.push(Box::pin(async move {
            tokio::time::sleep(backoff).await;
            Outcome::DelayedReply(messages)
        }));
    }
}
