//! `GET …/auth/users`, and what is done with one of them.

use axum::Json;
use plinth_project::{
    AuditPage, AuditSearch, Impersonation, UserDetails, UserPage, UserSearch, UserSessions,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Administration, parse_id};
use crate::{
    PlatformError,
    api::body::{Body, Params, Segments},
};

const MAX_REASON_CHARS: usize = 500;

/// The body of an impersonation.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct ImpersonationRequest {
    /// Why, for the audit log.
    reason: String,
}

/// How many sessions have ended.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct EndedSessions {
    ended: u64,
}

#[derive(Serialize)]
struct AuditedSessions {
    user: Uuid,
    session: Option<Uuid>,
    ended: u64,
}

#[derive(Serialize)]
struct AuditedImpersonation<'a> {
    user: Uuid,
    session: &'a str,
    expires_at: i64,
    reason: &'a str,
}

/// `GET …/auth/users`: a page of a search.
pub(in crate::api) async fn search(
    administration: Administration,
    Params(search): Params<UserSearch>,
) -> Result<Json<UserPage>, PlatformError> {
    let users = administration.platform.users()?;
    Ok(Json(users.search(&administration.call, &search).await?))
}

/// `GET …/auth/users/{id}`
pub(in crate::api) async fn show(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<UserDetails>, PlatformError> {
    let id = parse_id(&id, "user")?;
    let users = administration.platform.users()?;
    Ok(Json(users.details(&administration.call, id).await?))
}

/// `GET …/auth/users/{id}/sessions`
pub(in crate::api) async fn sessions(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<UserSessions>, PlatformError> {
    let id = parse_id(&id, "user")?;
    let users = administration.platform.users()?;
    Ok(Json(users.sessions(&administration.call, id).await?))
}

/// `DELETE …/auth/users/{id}/sessions`: ends all.
pub(in crate::api) async fn end_sessions(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<EndedSessions>, PlatformError> {
    end(administration, parse_id(&id, "user")?, None).await
}

/// `DELETE …/auth/users/{id}/sessions/{session}`
pub(in crate::api) async fn end_session(
    administration: Administration,
    Segments((_, id, session)): Segments<(String, String, String)>,
) -> Result<Json<EndedSessions>, PlatformError> {
    let session = parse_id(&session, "session")?;
    end(administration, parse_id(&id, "user")?, Some(session)).await
}

async fn end(
    administration: Administration,
    user: Uuid,
    session: Option<Uuid>,
) -> Result<Json<EndedSessions>, PlatformError> {
    let users = administration.platform.users()?;
    let ended = users
        .end_sessions(&administration.call, user, session)
        .await?;
    let details = AuditedSessions {
        user,
        session,
        ended,
    };
    administration.audit("user.sessions.end", &details).await;
    Ok(Json(EndedSessions { ended }))
}

/// `GET …/auth/users/{id}/audit`: what the user did, and what was done with the user.
pub(in crate::api) async fn audit_log(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
    Params(search): Params<AuditSearch>,
) -> Result<Json<AuditPage>, PlatformError> {
    let search = AuditSearch {
        user: Some(parse_id(&id, "user")?.to_string()),
        ..search
    };
    let users = administration.platform.users()?;
    Ok(Json(users.audit_log(&administration.call, &search).await?))
}

/// `GET …/auth/audit`
pub(in crate::api) async fn whole_audit_log(
    administration: Administration,
    Params(search): Params<AuditSearch>,
) -> Result<Json<AuditPage>, PlatformError> {
    let users = administration.platform.users()?;
    Ok(Json(users.audit_log(&administration.call, &search).await?))
}

/// `POST …/auth/users/{id}/impersonate`: a session in place of the user, for a quarter of an hour.
pub(in crate::api) async fn impersonate(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
    Body(request): Body<ImpersonationRequest>,
) -> Result<Json<Impersonation>, PlatformError> {
    let reference = administration.project().reference();
    if *reference == administration.platform.references().platform {
        return Err(PlatformError::Forbidden(
            "Operators cannot be impersonated".to_owned(),
        ));
    }
    let user = parse_id(&id, "user")?;
    let reason = request.reason.trim();
    if reason.is_empty() || reason.chars().count() > MAX_REASON_CHARS {
        return Err(PlatformError::Invalid(format!(
            "reason: say why, in at most {MAX_REASON_CHARS} characters"
        )));
    }
    let users = administration.platform.users()?;
    let session = users
        .impersonate(&administration.call, user, reason)
        .await?;
    let details = AuditedImpersonation {
        user,
        session: &session.session_id,
        expires_at: session.expires_at,
        reason,
    };
    administration.audit("user.impersonate", &details).await;
    Ok(Json(session))
}
