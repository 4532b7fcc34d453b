//! `access_token`: a client replaces the token of a channel (§8.1).

use serde_json::Value;

use super::channels::{Outcome, SocketChannels};
use crate::{
    authorize::AuthorizeError,
    channel::{Channel, ChannelError, WritePermissions},
    clock::now,
    identity::Identity,
    protocol::{IncomingFrame, Payload},
    topics::ReadPermissions,
};

impl SocketChannels {
    pub(super) fn handle_access_token(&mut self, frame: &IncomingFrame) {
        let context = self.context.clone();
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let Payload::Json(payload) = &frame.payload else {
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
        if token.starts_with("sb_") || token == &*channel.identity.credential {
            return;
        }
        let identity = match Identity::verify(&context.project, token, now()) {
            Ok(identity) => identity,
            Err(error) => {
                return self.close_with_error(&frame.topic, &ChannelError::Credential(error));
            }
        };
        if !channel.topic.is_private {
            channel.identity = identity;
            channel.subscribe(&context.hub, &context.project.db);
            return;
        }
        let check = channel.access_check(&identity, &context.headers);
        let wants_presence = channel.has_presence;
        let topic: Box<str> = frame.topic.clone();
        self.set_busy(&topic, true);
        self.work.push(Box::pin(async move {
            let permissions = check.read_permissions(&context.project.db, wants_presence);
            let permissions = context.hub.metrics.time_read_check(permissions).await;
            Outcome::TokenChecked(topic, Box::new(identity), permissions)
        }));
    }

    /// A private channel continues with a new token, or is closed if that may receive less.
    pub(super) fn apply_token(
        &mut self,
        topic: &str,
        identity: Identity,
        permissions: Result<ReadPermissions, AuthorizeError>,
    ) {
        let context = self.context.clone();
        let Some(channel) = self.channel(topic) else {
            return;
        };
        let permissions = match permissions {
            Ok(permissions) => permissions,
            Err(error) => {
                let error = failed_check(error, channel.sub_topic());
                return self.close_with_error(topic, &error);
            }
        };
        if let Some(error) = permission_loss(channel, permissions) {
            return self.close_with_error(topic, &error);
        }
        channel.member.set_read_permissions(permissions);
        channel.identity = identity;
        channel.write_permissions = WritePermissions::UNKNOWN;
        channel.subscribe(&context.hub, &context.project.db);
    }
}

fn failed_check(error: AuthorizeError, sub_topic: &str) -> ChannelError {
    match error {
        AuthorizeError::Policy(cause) => {
            tracing::warn!(
                code = "RlsPolicyError",
                "closing a channel after a token change: \
                 a policy on realtime.messages failed: {cause}"
            );
            ChannelError::NoPermission(sub_topic.into())
        }
        AuthorizeError::Canceled(_) => ChannelError::QueryCanceled,
        AuthorizeError::MissingPartition
        | AuthorizeError::PoolTimeout
        | AuthorizeError::DatabaseFull(_)
        | AuthorizeError::DatabaseNotReady(_)
        | AuthorizeError::DatabaseUnavailable(_)
        | AuthorizeError::OutOfResources(_) => ChannelError::DatabaseUnavailable,
    }
}

/// The error for a channel that may receive less than before.
fn permission_loss(channel: &Channel, now: ReadPermissions) -> Option<ChannelError> {
    let before = channel.member.read_permissions();
    let topic = channel.sub_topic();
    if !now.broadcast && !now.presence {
        return Some(ChannelError::NoPermission(topic.into()));
    }
    let has_lost = (before.broadcast && !now.broadcast) || (before.presence && !now.presence);
    has_lost.then(|| ChannelError::LostPermission(topic.into()))
}
