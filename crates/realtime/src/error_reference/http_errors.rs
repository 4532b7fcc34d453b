//! Errors of HTTP broadcasts and of the WebSocket handshake.

use serde_json::json;

use super::entries;
use crate::{http::HttpError, identity::CredentialError, socket::HandshakeError};

/// Both for a missing credential and for a denied topic; joins have the same code.
pub(super) const UNAUTHORIZED: &str = "The API key or token is missing or not valid (401), or the \
    policies on `realtime.messages` do not permit the topic (403, or the reply to a join).";
pub(super) const UNAUTHORIZED_NEXT: &str = "Send a valid key or token; for a private topic, add a \
    policy on `realtime.messages` for the role.";

entries!(http(HttpError, wire_text, |error| Some(error.status().as_u16())) {
    HttpError::Unauthenticated | HttpError::Forbidden
        = [HttpError::Unauthenticated, HttpError::Forbidden]
        => "Unauthorized", UNAUTHORIZED, UNAUTHORIZED_NEXT;
    HttpError::Disabled = [HttpError::Disabled]
        => "Tenant is suspended",
        "The realtime service is switched off for the project.",
        "Set `realtime.enabled` to true.";
    HttpError::OverRateLimit = [HttpError::OverRateLimit]
        => "You have exceeded your rate limit",
        "The project's average of events per second is over its limit.",
        "Send less, retry with backoff, or raise `plinth.realtime.max_events_per_second`.";
    HttpError::AtRateLimit = [HttpError::AtRateLimit]
        => "Too many requests",
        "The project's average of events per second has reached its limit.",
        "Retry with backoff, or raise `plinth.realtime.max_events_per_second`.";
    HttpError::BatchTooLarge = [HttpError::BatchTooLarge]
        => "Too many messages to broadcast, please reduce the batch size",
        "The batch would exceed the project's limit of events per second.",
        "Send smaller batches, or raise `plinth.realtime.max_events_per_second`.";
    HttpError::NotJson = [HttpError::NotJson]
        => "The request body is not valid JSON",
        "The body cannot be parsed.",
        "Send JSON, or bytes with `content-type: application/octet-stream`.";
    HttpError::UnsupportedMediaType = [HttpError::UnsupportedMediaType]
        => "Unsupported Media Type. Use application/json or application/octet-stream",
        "The request has another content type.",
        "Set one of the two content types.";
    HttpError::Invalid(_) = [HttpError::Invalid(json!({ "payload": ["can't be blank"] }))]
        => "errors",
        "Fields of the request are missing, invalid or too large; `errors` lists them by name.",
        "Correct the listed fields; the size limit is `plinth.realtime.max_payload_size_in_kb`.";
    HttpError::Policy = [HttpError::Policy]
        => "RLS policy error",
        "A policy on `realtime.messages` failed with an error.",
        "Look for `UnableToSetPolicies` in the log, and correct the policy.";
    HttpError::Canceled = [HttpError::Canceled]
        => "Query canceled",
        "PostgreSQL cancelled the permission check, usually by a statement timeout.",
        "Retry; if it persists, make the policies on `realtime.messages` faster.";
    HttpError::MissingPartition = [HttpError::MissingPartition]
        => "Missing messages partition",
        "`realtime.messages` has no partition for today.",
        "Look into the log why the daily maintenance of partitions failed.";
    HttpError::DatabaseUnavailable = [HttpError::DatabaseUnavailable]
        => "Tenant database unavailable",
        "There is no connection to the project's database.",
        "Retry with backoff; check that PostgreSQL is running and reachable.";
    HttpError::DatabaseFull = [HttpError::DatabaseFull]
        => "Tenant database has too many connections",
        "PostgreSQL accepts no more connections.",
        "Close idle connections, or raise `max_connections`.";
    HttpError::DatabaseNotReady = [HttpError::DatabaseNotReady]
        => "Tenant database initializing",
        "The project's database is starting.",
        "Retry with backoff.";
    HttpError::OutOfResources = [HttpError::OutOfResources]
        => "Tenant database has no space left",
        "PostgreSQL has no disk space or memory left for the permission check.",
        "Retry later; operators free space.";
    HttpError::PoolTimeout = [HttpError::PoolTimeout]
        => "Connection pool exhausted",
        "No pooled connection became free in time.",
        "Retry with backoff, or enlarge the project's connection pool.";
});

/// What a client sees: the text, or the key of the body that lists fields.
fn wire_text(error: &HttpError) -> String {
    match error {
        HttpError::Invalid(_) => "errors".to_owned(),
        other => other.to_string(),
    }
}

entries!(handshake(HandshakeError, HandshakeError::to_string, |error| {
    Some(error.status().as_u16())
}) {
    HandshakeError::MissingKey = [HandshakeError::MissingKey]
        => "API key is missing",
        "The handshake has neither the query parameter `apikey` nor the header `x-api-key`.",
        "Pass an API key.";
    HandshakeError::Credential(CredentialError::Malformed)
        = [HandshakeError::Credential(CredentialError::Malformed)]
        => "The token provided is not a valid JWT",
        "The credential of the handshake is neither an API key nor a JWT; on an open channel, its \
         new token is none.",
        "Pass an API key, or the access token of a session.";
    HandshakeError::Credential(CredentialError::Expired(_))
        = [HandshakeError::Credential(CredentialError::Expired(7))]
        => "Token has expired",
        "The token of the handshake, or of an open channel, has expired.",
        "Refresh the session and send the new token.";
    HandshakeError::Credential(CredentialError::MissingClaims)
        = [HandshakeError::Credential(CredentialError::MissingClaims)]
        => "Fields `role` and `exp` are required in JWT",
        "The token lacks the claim `role` or `exp`, or `exp` is not a number.",
        "Sign tokens with both claims.";
    HandshakeError::Credential(CredentialError::InvalidExpiry)
        = [HandshakeError::Credential(CredentialError::InvalidExpiry)]
        => "Token expiration time is invalid",
        "The claim `exp` is not a positive number.",
        "Sign tokens with `exp` in seconds since 1970.";
    HandshakeError::Credential(CredentialError::BadSignature)
        = [HandshakeError::Credential(CredentialError::BadSignature)]
        => "Failed to validate JWT signature",
        "The token was not signed with a key of this project, or the API key is unknown or disabled.",
        "Use a key or token of this project; after a key rotation, sign in again.";
    HandshakeError::Credential(CredentialError::NoKey { .. })
        = [HandshakeError::Credential(CredentialError::NoKey { kid: None })]
        => "Failed to generate JWT signer",
        "The project has no key for the token's algorithm or key id.",
        "Add the signing key to the project, or sign with one that it has.";
    HandshakeError::Disabled = [HandshakeError::Disabled]
        => "Realtime was disabled for this tenant",
        "The realtime service is switched off for the project.",
        "Set `realtime.enabled` to true.";
    HandshakeError::TooManySockets = [HandshakeError::TooManySockets]
        => "Too many connected users",
        "The project has as many sockets with a channel as it may.",
        "Close unused sockets, or raise `plinth.realtime.max_concurrent_users`.";
    HandshakeError::TooManyJoins = [HandshakeError::TooManyJoins]
        => "Too many joins per second",
        "The project's average of joins per second has reached its limit.",
        "Reconnect with backoff, or raise `plinth.realtime.max_joins_per_second`.";
});
