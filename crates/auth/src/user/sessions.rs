//! The user's sessions: Plinth's own endpoints for the account pages.

use axum::{Json, extract::Path, http::StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    model::sessions,
    request::RequestContext,
    wire_time,
};

/// A client can create any number of sessions.
const MAX_LISTED: i64 = 200;

/// `GET /user/sessions`
pub(crate) async fn list_sessions(
    context: RequestContext,
    signed_in: SignedIn,
) -> Result<Json<Vec<Value>>, AuthError> {
    if signed_in.lacks_second_factor() {
        return Err(AuthError::aal2_required());
    }
    let current = signed_in.session.as_ref().map(|session| session.id);
    let mut db = context.db().await?;
    let mut bodies = Vec::new();
    for (session, amr) in sessions::list(&mut db, signed_in.user.id, current, MAX_LISTED).await? {
        let amr = amr
            .iter()
            .map(|claim| json!({ "method": claim.method, "timestamp": claim.at.unix_timestamp() }));
        bodies.push(json!({
            "id": session.id,
            "created_at": wire_time::render(session.created_at),
            "refreshed_at": session.refreshed_at.map(wire_time::render),
            "not_after": session.not_after.map(wire_time::render),
            "aal": session.aal.as_str(),
            "amr": amr.collect::<Vec<_>>(),
            "user_agent": session.user_agent,
            "ip": session.ip,
            "current": Some(session.id) == current,
        }));
    }
    Ok(Json(bodies))
}

/// `DELETE /user/sessions/{id}`. The response is the same for malformed, unknown and other users'
/// ids.
pub(crate) async fn end_session(
    context: RequestContext,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<StatusCode, AuthError> {
    if signed_in.lacks_second_factor() {
        return Err(AuthError::aal2_required());
    }
    let id: Uuid = id.parse().map_err(|_| AuthError::own_session_not_found())?;
    let mut tx = context.begin().await?;
    let session = sessions::find(&mut tx, id).await?;
    let user = &signed_in.user;
    if session.is_none_or(|session| session.user_id != user.id) {
        return Err(AuthError::own_session_not_found());
    }
    sessions::delete(&mut tx, id).await?;
    audit::write(&context, &mut tx, user, Action::Logout, Value::Null).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
