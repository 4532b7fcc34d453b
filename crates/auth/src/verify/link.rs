//! `GET /verify`: the link in an email. Always responds with a redirect.

use axum::{http::StatusCode, response::Response};

use super::{FIRST_OF_TWO_CONFIRMED, effects, effects::Effect, proof, proof::Purpose};
use crate::{
    AuthError,
    model::{FlowMethod, TokenKind, User, flows, one_time},
    rate_limit::{self, Bucket},
    redirect::{RedirectTarget, redirect},
    request::{Query, RequestContext},
    sessions::{SignIn, TokenBody, sign_in},
};

/// `GET /verify`
pub(crate) async fn verify_link(
    context: RequestContext,
    query: Query,
) -> Result<Response, AuthError> {
    let (kind, token) = (query.get("type"), query.get("token"));
    if kind.is_empty() || token.is_empty() {
        return Err(if kind.is_empty() {
            AuthError::missing_verification_type()
        } else {
            AuthError::missing_verification_token()
        });
    }
    let is_pkce = token.starts_with(one_time::PKCE_PREFIX);
    let mut target = RedirectTarget::new(&context.redirect_to());
    let result = context.with_deadline(verify_and_apply(&context, kind, token, is_pkce));
    match result.await {
        Ok(LinkResult::Session(body)) => {
            target.add_session(&body);
            target.add_fragment("type", kind);
        }
        Ok(LinkResult::Code(code)) => target.set_query("code", &code),
        Ok(LinkResult::FirstOfTwoConfirmed) => {
            target.add_fragment("message", FIRST_OF_TWO_CONFIRMED);
            if is_pkce {
                target.set_query("message", FIRST_OF_TWO_CONFIRMED);
            }
        }
        Err(error) => target.add_error(&error, is_pkce),
    }
    redirect(StatusCode::SEE_OTHER, &target.to_string())
}

enum LinkResult {
    Session(Box<TokenBody>),
    /// To be exchanged by the client that started the flow.
    Code(String),
    FirstOfTwoConfirmed,
}

async fn verify_and_apply(
    context: &RequestContext,
    kind: &str,
    token: &str,
    is_pkce: bool,
) -> Result<LinkResult, AuthError> {
    rate_limit::check_shared(context, Bucket::Verify).await?;
    let purpose = Purpose::parse(kind).filter(|purpose| !purpose.is_by_phone());
    let purpose = purpose.ok_or_else(AuthError::unsupported_verification_type)?;
    let mut tx = context.begin().await?;
    let verified = proof::check_hash(context, &mut tx, purpose, token).await?;
    let method = flow_method(purpose, verified.kind);
    let result = match effects::apply(context, &mut tx, verified).await? {
        Effect::FirstOfTwoConfirmed => LinkResult::FirstOfTwoConfirmed,
        Effect::Session(user) if is_pkce => {
            LinkResult::Code(issue_code(context, &mut tx, &user, method).await?)
        }
        Effect::Session(user) => {
            let body = sign_in(context, &mut tx, *user, SignIn::by("otp")).await?;
            LinkResult::Session(Box::new(body))
        }
    };
    tx.commit().await?;
    Ok(result)
}

/// The authentication method of the flow that sent the email.
fn flow_method(purpose: Purpose, kind: TokenKind) -> FlowMethod {
    match (purpose, kind) {
        (Purpose::Invite, _) => FlowMethod::Invite,
        (Purpose::Recovery, _) => FlowMethod::Recovery,
        (_, TokenKind::Recovery) => FlowMethod::MagicLink,
        (Purpose::EmailChange, _) => FlowMethod::EmailChange,
        _ => FlowMethod::EmailSignup,
    }
}

async fn issue_code(
    context: &RequestContext,
    tx: &mut plinth_project::ServiceTransaction,
    user: &User,
    method: FlowMethod,
) -> Result<String, AuthError> {
    let flow = flows::find_newest(tx, user.id, method).await?;
    let flow = flow.and_then(|flow| flow.auth_code.map(|code| (flow.id, code)));
    let (id, code) = flow.ok_or_else(AuthError::mail_flow_state_not_found)?;
    flows::issue_code(tx, id, context.now).await?;
    Ok(code)
}
