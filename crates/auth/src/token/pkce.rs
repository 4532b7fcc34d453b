//! Exchanges the code of a PKCE flow for its session.

use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    AuthError,
    audit::{self, Action},
    model::{Flow, flows, users},
    request::RequestContext,
    sessions::{SignIn, TokenBody, sign_in},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PkceParams {
    auth_code: String,
    code_verifier: String,
}

/// `grant_type=pkce`
pub(super) async fn grant(
    context: &RequestContext,
    params: PkceParams,
) -> Result<TokenBody, AuthError> {
    if params.auth_code.is_empty() || params.code_verifier.is_empty() {
        return Err(AuthError::validation_failed(
            "invalid request: both auth code and code verifier should be non-empty",
        ));
    }
    let mut tx = context.begin().await?;
    let flow = flows::lock_by_code(&mut tx, &params.auth_code).await?;
    let flow = flow.ok_or_else(AuthError::flow_state_not_found)?;
    let user_id = flow.user_id.ok_or_else(AuthError::flow_state_not_found)?;
    if context.now > issued_at(&flow) + context.config.external.flow_lifetime {
        return Err(AuthError::flow_state_expired());
    }
    let is_proven = flow
        .challenge
        .as_ref()
        .is_some_and(|challenge| challenge.matches(&params.code_verifier));
    if !is_proven {
        return Err(AuthError::bad_code_verifier());
    }
    let user = users::find(&mut tx, user_id).await?;
    let user = user.filter(|user| user.deleted_at.is_none());
    let user = user.ok_or_else(AuthError::flow_state_not_found)?;
    if user.is_banned(context.now) {
        return Err(AuthError::user_banned_on_grant());
    }
    let traits = json!({ "provider_type": flow.provider_type });
    audit::write(context, &mut tx, &user, Action::Login, traits).await?;
    let sign_in_by = SignIn::by(&flow.authentication_method);
    let mut body = sign_in(context, &mut tx, user, sign_in_by).await?;
    let given = |token: Option<String>| token.filter(|token| !token.is_empty());
    body.provider_token = given(flow.provider_access_token);
    body.provider_refresh_token = given(flow.provider_refresh_token);
    flows::delete(&mut tx, flow.id).await?;
    tx.commit().await?;
    Ok(body)
}

/// The code's lifetime starts when it was issued.
fn issued_at(flow: &Flow) -> OffsetDateTime {
    flow.auth_code_issued_at.unwrap_or(flow.created_at)
}
