//! The devices on which somebody is signed in: Plinth's own endpoints for the account pages.

use axum::{Json, extract::Path, http::StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::require_highest_aal;
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::sessions,
    request::{Context, SignedIn},
    wire_time,
};

/// More than anybody looks through; a client that signs in again and again can have any number.
const MAX_LISTED: i64 = 200;

/// `GET /user/sessions`
pub(crate) async fn list_sessions(
    context: Context,
    signed_in: SignedIn,
) -> Result<Json<Vec<Value>>, AuthError> {
    require_highest_aal(&signed_in, 403)?;
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

/// `DELETE /user/sessions/{id}`. Ids that are malformed, unknown or somebody else's look alike.
pub(crate) async fn end_session(
    context: Context,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<StatusCode, AuthError> {
    require_highest_aal(&signed_in, 403)?;
    let missing = || AuthError::new(404, Code::ValidationFailed, "No such session");
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let mut tx = context.begin().await?;
    let session = sessions::find(&mut tx, id).await?;
    let user = &signed_in.user;
    if session.is_none_or(|session| session.user_id != user.id) {
        return Err(missing());
    }
    sessions::delete(&mut tx, id).await?;
    audit::write(&context, &mut tx, user, Action::Logout, Value::Null).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
