//! `POST /logout` (auth contract §2.7).

use axum::http::StatusCode;
use serde_json::Value;

use crate::{
    AuthError,
    audit::{self, Action},
    caller::{SignedIn, UserOrApplication},
    model::sessions,
    request::{Query, RequestContext},
};

/// `POST /logout?scope=global|local|others`. An OAuth application, or an operator in
/// place of the user, can end its own session only, whatever the scope. So can a session that has not proven the user's second factor: anyone who
/// knows only the password must not sign the user out everywhere. It gets 422 for `others`.
pub(crate) async fn logout(
    context: RequestContext,
    UserOrApplication(signed_in): UserOrApplication,
    query: Query,
) -> Result<StatusCode, AuthError> {
    let user = &signed_in.user;
    let session = signed_in.session.as_ref().map(|session| session.id);
    // Without a session there is none of the operator's to end.
    if signed_in.is_impersonated() && session.is_none() {
        return Err(AuthError::impersonation_not_allowed());
    }
    let scope = permitted_scope(&signed_in, query.get("scope"))?;
    let mut tx = context.begin().await?;
    match (scope, session) {
        ("" | "global", _) | ("local" | "others", None) => {
            sessions::delete_all_but(&mut tx, user.id, None).await?;
        }
        ("local", Some(session)) => sessions::delete(&mut tx, session).await?,
        ("others", session) => sessions::delete_all_but(&mut tx, user.id, session).await?,
        (other, _) => {
            return Err(AuthError::validation_failed(format!(
                "Unsupported logout scope {other:?}: must be one of global, local, others"
            )));
        }
    }
    audit::write(&context, &mut tx, user, Action::Logout, Value::Null).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the caller's session may do of what is asked for. Unknown scopes are returned as they are.
fn permitted_scope<'a>(signed_in: &SignedIn, scope: &'a str) -> Result<&'a str, AuthError> {
    if signed_in.is_application() || signed_in.is_impersonated() {
        return Ok("local");
    }
    if !signed_in.lacks_second_factor() {
        return Ok(scope);
    }
    match scope {
        "" | "global" | "local" if signed_in.session.is_some() => Ok("local"),
        "" | "global" | "local" | "others" => Err(AuthError::aal2_required_to_sign_out_others()),
        unknown => Ok(unknown),
    }
}
