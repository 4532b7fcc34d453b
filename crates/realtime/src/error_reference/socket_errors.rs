//! Errors on an open WebSocket, which have no HTTP status.

use super::{
    entries,
    http_errors::{UNAUTHORIZED, UNAUTHORIZED_NEXT},
};
use crate::{
    changes::{filter::FilterError, message::ChangeError, request::ChangeRequestError},
    channel::{ChannelError, JoinError},
    identity::CredentialError,
    socket::PushError,
};

const REPLAY: &str = "The replay could not be served: the channel is public, the parameters are not \
    valid, the query failed, or too many messages arrived during it.";

entries!(joins(JoinError, JoinError::to_string, |_| None) {
    JoinError::UnmatchedTopic = [JoinError::UnmatchedTopic]
        => "unmatched topic",
        "The topic does not start with `realtime:`, or the frame is for a topic that is not joined.",
        "Join the topic first, with its prefix.";
    JoinError::TopicNameRequired = [JoinError::TopicNameRequired]
        => "TopicNameRequired",
        "The topic is `realtime:` without a name.",
        "Name the topic.";
    JoinError::Restarting = [JoinError::Restarting]
        => "RealtimeRestarting",
        "The server shuts down and accepts no joins.",
        "Reconnect; official clients do so by themselves.";
    JoinError::Disabled = [JoinError::Disabled]
        => "RealtimeDisabledForTenant",
        "The realtime service is switched off for the project.",
        "Set `realtime.enabled` to true.";
    JoinError::PrivateOnly = [JoinError::PrivateOnly]
        => "PrivateOnly",
        "The project permits private channels only.",
        "Join with `private: true`, or set `plinth.realtime.private_only` to false.";
    JoinError::TooManySockets = [JoinError::TooManySockets]
        => "ConnectionRateLimitReached",
        "The project has as many sockets with a channel as it may.",
        "Close unused sockets, or raise `plinth.realtime.max_concurrent_users`.";
    JoinError::TooManyJoins = [JoinError::TooManyJoins]
        => "ClientJoinRateLimitReached",
        "The project's average of joins per second has reached its limit; the socket is closed.",
        "Reconnect with backoff, or raise `plinth.realtime.max_joins_per_second`.";
    JoinError::TooManyChannels = [JoinError::TooManyChannels]
        => "ChannelRateLimitReached",
        "The socket has as many channels as it may.",
        "Leave unused channels, or raise `plinth.realtime.max_channels_per_client`.";
    JoinError::Credential(CredentialError::Malformed)
        = [JoinError::Credential(CredentialError::Malformed)]
        => "MalformedJWT",
        "The token of the join is not a JWT.",
        "Send the access token of a session.";
    JoinError::Credential(
        CredentialError::Expired(_) | CredentialError::MissingClaims | CredentialError::InvalidExpiry
    ) = [
        JoinError::Credential(CredentialError::Expired(7)),
        JoinError::Credential(CredentialError::MissingClaims),
        JoinError::Credential(CredentialError::InvalidExpiry)
    ]
        => "InvalidJWTToken",
        "The token of the join has expired, lacks `role` or `exp`, or its `exp` is not valid.",
        "Refresh the session and join with the new token.";
    JoinError::Credential(CredentialError::BadSignature)
        = [JoinError::Credential(CredentialError::BadSignature)]
        => "JwtSignatureError",
        "The token was not signed with a key of this project.",
        "Use a token of this project; after a key rotation, sign in again.";
    JoinError::Credential(CredentialError::NoKey { .. })
        = [JoinError::Credential(CredentialError::NoKey { kid: None })]
        => "JwtSignerError",
        "The project has no key for the token's algorithm or key id.",
        "Add the signing key to the project, or sign with one that it has.";
    JoinError::Unauthorized(_) = [JoinError::Unauthorized("room".into())]
        => "Unauthorized", UNAUTHORIZED, UNAUTHORIZED_NEXT;
    JoinError::QueryCanceled(_) = [JoinError::QueryCanceled("statement timeout".to_owned())]
        => "QueryCanceled",
        "PostgreSQL cancelled the permission check, usually by a statement timeout.",
        "Retry; if it persists, make the policies on `realtime.messages` faster.";
    JoinError::MissingPartition = [JoinError::MissingPartition]
        => "MissingPartition",
        "`realtime.messages` has no partition for today.",
        "Look into the log why the daily maintenance of partitions failed.";
    JoinError::PoolTimeout = [JoinError::PoolTimeout]
        => "IncreaseConnectionPool",
        "No pooled connection became free in time.",
        "Retry with backoff, or enlarge the project's connection pool.";
    JoinError::DatabaseFull = [JoinError::DatabaseFull]
        => "DatabaseLackOfConnections",
        "PostgreSQL accepts no more connections.",
        "Close idle connections, or raise `max_connections`.";
    JoinError::DatabaseNotReady = [JoinError::DatabaseNotReady]
        => "InitializingProjectConnection",
        "The project's database is starting.",
        "Retry with backoff; official clients do so by themselves.";
    JoinError::DatabaseUnavailable = [JoinError::DatabaseUnavailable]
        => "UnableToConnectToProject",
        "There is no connection to the project's database.",
        "Check that PostgreSQL is running and reachable.";
    JoinError::ReplayOnPublic | JoinError::InvalidReplay | JoinError::ReplayFailed
        = [JoinError::ReplayOnPublic, JoinError::InvalidReplay, JoinError::ReplayFailed]
        => "UnableToReplayMessages", REPLAY,
        "Join a private channel with an integer `since` in milliseconds, and retry if the query failed.";
});

entries!(pushes(PushError, push_text, |_| None) {
    PushError::PayloadTooLarge = [PushError::PayloadTooLarge]
        => "payload_size_exceeded",
        "The broadcast was dropped: its payload is over the size limit.",
        "Send less, or raise `plinth.realtime.max_payload_size_in_kb`.";
    PushError::TrackNotAnObject = [PushError::TrackNotAnObject]
        => "Presence track payload must be a map",
        "The payload of `track` is not a JSON object.",
        "Track an object.";
    PushError::NodesUnreachable = [PushError::NodesUnreachable]
        => "Realtime was unable to reach its other nodes",
        "The broker between the nodes is away: only clients of this node received the broadcast.",
        "Send it again later if all must receive it; operators check the broker.";
});

/// The only value of the response object.
fn push_text(error: &PushError) -> String {
    let response = serde_json::from_str::<serde_json::Value>(error.response());
    let response = response.unwrap_or_default();
    let value = response
        .as_object()
        .and_then(|members| members.values().next());
    let text = value.and_then(serde_json::Value::as_str);
    text.unwrap_or_default().to_owned()
}

entries!(closed_channels(ChannelError, ChannelError::to_string, |_| None) {
    ChannelError::MessageRate = [ChannelError::MessageRate]
        => "MessagePerSecondRateLimitReached",
        "`Too many messages per second`: the project is over its limit of events; the channel is \
         closed.",
        "Send less, or raise `plinth.realtime.max_events_per_second`.";
    ChannelError::PresenceRate = [ChannelError::PresenceRate]
        => "PresenceRateLimitReached",
        "`Too many presence messages per second`: the project is over its limit; the channel is \
         closed.",
        "Track less often, or raise `plinth.realtime.max_presence_events_per_second`.";
    ChannelError::ClientPresenceRate = [ChannelError::ClientPresenceRate]
        => "ClientPresenceRateLimitReached",
        "`Client presence rate limit exceeded`: one channel made too many presence calls; it is \
         closed.",
        "Track less often, or raise `plinth.realtime.client_presence_calls`.";
    ChannelError::TrackTooLarge = [ChannelError::TrackTooLarge]
        => "Track message size exceeded",
        "The payload of `track` is over the size limit; the channel is closed.",
        "Track less, or raise `plinth.realtime.max_payload_size_in_kb`.";
    ChannelError::ReplicationTimeout = [ChannelError::ReplicationTimeout]
        => "Replication connection was not established in time",
        "The channel asked for `replication_ready`, and the replication stream did not come up.",
        "Look for `PoolingReplicationError` in the log; the timeout is \
         `plinth.realtime.replication_ready_timeout`.";
    // The same texts as in the handshake, which has the entries.
    ChannelError::Credential(_) = [] => "", "", "";
    ChannelError::NoPermission(_) = [ChannelError::NoPermission("room".into())]
        => "You do not have permissions to read from this Channel topic",
        "The channel's new token may not read the private topic; the channel is closed.",
        "Add a policy for SELECT on `realtime.messages`, and join again.";
    ChannelError::LostPermission(_) = [ChannelError::LostPermission("room".into())]
        => "You no longer have permission to read from this Channel topic",
        "The channel's new token may read less than the last one; the channel is closed.",
        "Join again with the new token.";
    ChannelError::QueryCanceled = [ChannelError::QueryCanceled]
        => "Query was cancelled, please try again",
        "PostgreSQL cancelled the permission check of a new token; the channel is closed.",
        "Join again; if it persists, make the policies on `realtime.messages` faster.";
    ChannelError::DatabaseUnavailable = [ChannelError::DatabaseUnavailable]
        => "Realtime was unable to connect to the project database",
        "A permission check, a subscription or the replication stream found no database.",
        "Check that PostgreSQL is running and reachable; subscriptions are retried.";
});

entries!(subscriptions(ChangeRequestError, ChangeRequestError::to_string, |_| None) {
    ChangeRequestError::Filter(
        FilterError::Syntax(_) | FilterError::InWithoutParentheses | FilterError::EmptySegment
    ) = [
        ChangeRequestError::Filter(FilterError::Syntax(vec!["id".to_owned()])),
        ChangeRequestError::Filter(FilterError::InWithoutParentheses),
        ChangeRequestError::Filter(FilterError::EmptySegment)
    ]
        => "Error parsing `filter` params",
        "A filter of `postgres_changes` is not `column=[not.]operator.value`, joined by commas.",
        "Correct the filter and join again.";
    ChangeRequestError::InvalidSelect = [ChangeRequestError::InvalidSelect]
        => "Error parsing `select` params",
        "`select` of `postgres_changes` is not a list of column names.",
        "Send an array of strings.";
    ChangeRequestError::SelectWithWildcard = [ChangeRequestError::SelectWithWildcard]
        => "Column selection is not supported for wildcard subscriptions.",
        "`select` needs one table, and the entry has a wildcard.",
        "Name schema and table.";
    ChangeRequestError::NoNames(_) = [ChangeRequestError::NoNames("%{}".to_owned())]
        => "No subscription params provided.",
        "An entry of `postgres_changes` has neither `schema` nor `table`.",
        "Name at least one of them.";
    ChangeRequestError::NotPublished(_)
        = [ChangeRequestError::NotPublished("table: t".to_owned())]
        => "Unable to subscribe to changes with given parameters. Please check Realtime is enabled",
        "No table of the publication `supabase_realtime` matches the entry.",
        "Run `alter publication supabase_realtime add table …`.";
    ChangeRequestError::Database { .. } = [ChangeRequestError::Database {
        request: "table: t".to_owned(),
        exception: "ERROR P0001".to_owned(),
    }]
        => "Unable to subscribe to changes with given parameters. An exception happened",
        "PostgreSQL rejects a filter or a column of the entry; the text has its error.",
        "Correct the filter, or grant SELECT on the column to the role.";
});

entries!(row_changes(ChangeError, |error| error.message().to_owned(), |_| None) {
    ChangeError::NoPrimaryKey = [ChangeError::NoPrimaryKey]
        => "Error 400: Bad Request, no primary key",
        "In `errors` of a row change: the table has no primary key, so the row is not included.",
        "Add a primary key to the table.";
    ChangeError::Unauthorized = [ChangeError::Unauthorized]
        => "Error 401: Unauthorized",
        "In `errors` of a row change: the role may not read the primary key.",
        "Grant SELECT on the key columns to the role.";
    ChangeError::TooLarge = [ChangeError::TooLarge]
        => "Error 413: Payload Too Large",
        "In `errors` of a row change: the row is over 1 MiB, and only small values are included.",
        "Read the row over REST; the limit is for the whole row, whatever is selected.";
});
