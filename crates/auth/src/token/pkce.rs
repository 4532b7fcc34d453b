//! The exchange of a code that a redirect carried, for the session it stands for.

use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::{Flow, flows, users},
    request::Context,
    sessions::{SignIn, TokenBody, sign_in},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PkceParams {
    auth_code: String,
    code_verifier: String,
}

/// `grant_type=pkce`
pub(super) async fn grant(context: &Context, params: PkceParams) -> Result<TokenBody, AuthError> {
    if params.auth_code.is_empty() || params.code_verifier.is_empty() {
        return Err(AuthError::invalid(
            "invalid request: both auth code and code verifier should be non-empty",
        ));
    }
    let mut tx = context.begin().await?;
    let flow = flows::lock_by_code(&mut tx, &params.auth_code).await?;
    let flow = flow.ok_or_else(not_found)?;
    let user_id = flow.user_id.ok_or_else(not_found)?;
    if context.now > begins(&flow) + context.config.external.flow_lifetime {
        return Err(AuthError::new(
            422,
            Code::FlowStateExpired,
            "invalid flow state, flow state has expired",
        ));
    }
    let is_proven = flow
        .challenge
        .as_ref()
        .is_some_and(|challenge| challenge.is_met_by(&params.code_verifier));
    if !is_proven {
        return Err(AuthError::new(
            400,
            Code::BadCodeVerifier,
            "code challenge does not match previously saved code verifier",
        ));
    }
    let user = users::find(&mut tx, user_id).await?;
    let user = user.filter(|user| user.deleted_at.is_none());
    let user = user.ok_or_else(not_found)?;
    if user.is_banned(context.now) {
        return Err(AuthError::new(400, Code::UserBanned, "User is banned"));
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

/// The code counts from the moment in which somebody could have it.
fn begins(flow: &Flow) -> OffsetDateTime {
    flow.auth_code_issued_at.unwrap_or(flow.created_at)
}

fn not_found() -> AuthError {
    AuthError::new(
        404,
        Code::FlowStateNotFound,
        "invalid flow state, no valid flow state found",
    )
}
