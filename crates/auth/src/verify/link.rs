//! `GET /verify`: the link of a mail. It always ends in a redirect, whatever happened.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{ONE_OF_TWO, effects, effects::Effect, proof, proof::Purpose};
use crate::{
    AuthError,
    error::Code,
    model::{FlowMethod, TokenKind, User, flows, one_time},
    rate_limit::{self, Bucket},
    redirect::Target,
    request::{Context, Query},
    sessions::{SignIn, TokenBody, sign_in},
};

/// `GET /verify`
pub(crate) async fn verify_link(context: Context, query: Query) -> Result<Response, AuthError> {
    let (kind, token) = (query.get("type"), query.get("token"));
    if kind.is_empty() || token.is_empty() {
        return Err(AuthError::invalid(match kind.is_empty() {
            true => "Verify requires a verification type",
            false => "Verify requires a token or a token hash",
        }));
    }
    let is_pkce = token.starts_with(one_time::PKCE_PREFIX);
    let mut target = Target::new(&context.redirect_to());
    let followed = context.in_time(follow(&context, kind, token, is_pkce));
    match followed.await {
        Ok(Followed::Session(body)) => {
            target.session(&body);
            target.fragment("type", kind);
        }
        Ok(Followed::Code(code)) => target.query("code", &code),
        Ok(Followed::OneOfTwo) => {
            target.fragment("message", ONE_OF_TWO);
            if is_pkce {
                target.query("message", ONE_OF_TWO);
            }
        }
        Err(error) => target.error(&error, is_pkce),
    }
    let location = [(header::LOCATION, target.to_string())];
    Ok((StatusCode::SEE_OTHER, location).into_response())
}

enum Followed {
    Session(Box<TokenBody>),
    /// To be exchanged by whoever began.
    Code(String),
    OneOfTwo,
}

async fn follow(
    context: &Context,
    kind: &str,
    token: &str,
    is_pkce: bool,
) -> Result<Followed, AuthError> {
    rate_limit::check(context, Bucket::Verify)?;
    let purpose = Purpose::parse(kind).filter(|purpose| !purpose.is_by_phone());
    let purpose = purpose.ok_or_else(|| AuthError::invalid("Unsupported verification type"))?;
    let mut tx = context.begin().await?;
    let proven = proof::check_hash(context, &mut tx, purpose, token).await?;
    let method = flow_method(purpose, proven.kind);
    let followed = match effects::apply(context, &mut tx, proven).await? {
        Effect::OneOfTwo => Followed::OneOfTwo,
        Effect::Session(user) if is_pkce => {
            Followed::Code(issue_code(context, &mut tx, &user, method).await?)
        }
        Effect::Session(user) => {
            let body = sign_in(context, &mut tx, *user, SignIn::by("otp")).await?;
            Followed::Session(Box::new(body))
        }
    };
    tx.commit().await?;
    Ok(followed)
}

/// How the flow that the mail began with is called.
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
    context: &Context,
    tx: &mut plinth_project::ServiceTransaction,
    user: &User,
    method: FlowMethod,
) -> Result<String, AuthError> {
    let flow = flows::find_newest(tx, user.id, method).await?;
    let flow = flow.and_then(|flow| flow.auth_code.map(|code| (flow.id, code)));
    let (id, code) = flow.ok_or_else(|| {
        AuthError::new(
            400,
            Code::FlowStateNotFound,
            "No associated flow state found",
        )
    })?;
    flows::issue_code(tx, id, context.now).await?;
    Ok(code)
}
