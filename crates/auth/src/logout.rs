//! `POST /logout` (auth contract §2.7).

use axum::http::StatusCode;
use serde_json::Value;

use crate::{
    AuthError,
    audit::{self, Action},
    model::sessions,
    request::{Context, OnBehalf, Query},
};

/// `POST /logout?scope=global|local|others`. An application ends its own session, whatever it asks
/// for.
pub(crate) async fn logout(
    context: Context,
    OnBehalf(signed_in): OnBehalf,
    query: Query,
) -> Result<StatusCode, AuthError> {
    let user = &signed_in.user;
    let session = signed_in.session.as_ref().map(|session| session.id);
    let mut tx = context.begin().await?;
    let scope = match signed_in.is_application() {
        true => "local",
        false => query.get("scope"),
    };
    match (scope, session) {
        ("" | "global", _) | ("local" | "others", None) => {
            sessions::delete_all_but(&mut tx, user.id, None).await?;
        }
        ("local", Some(session)) => sessions::delete(&mut tx, session).await?,
        ("others", session) => sessions::delete_all_but(&mut tx, user.id, session).await?,
        (other, _) => {
            return Err(AuthError::invalid(format!(
                "Unsupported logout scope {other:?}: must be one of global, local, others"
            )));
        }
    }
    audit::write(&context, &mut tx, user, Action::Logout, Value::Null).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
