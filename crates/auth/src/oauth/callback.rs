//! `GET|POST /callback`: the redirect back from a provider (auth contract §2.8).

use axum::{
    body::Body,
    extract::Request,
    http::{Method, Uri},
    response::Response,
};
use http_body_util::{BodyExt, Limited};
use plinth_project::ServiceTransaction;
use url::Url;
use uuid::Uuid;

use super::{
    account::{self, ProviderUser, SignInOutcome},
    identify::{ProviderTokens, identify},
    redirects::{self, RedirectError},
};
use crate::{
    AuthError, accounts,
    error::Code,
    model::{Flow, flows, users},
    request::{Query, RequestContext},
    sessions::{SignIn, TokenBody, sign_in},
};

const MAX_FORM_BYTES: usize = 64 * 1024;

/// `GET|POST /callback`
pub(crate) async fn callback(
    context: RequestContext,
    request: Request,
) -> Result<Response, AuthError> {
    let (parts, body) = request.into_parts();
    let params = read_params(&parts.method, &parts.uri, body).await;
    let found = context.with_deadline(find_flow(&context, params.get("state")));
    let flow = match found.await {
        Ok(flow) => flow,
        Err(error) => return redirects::to_site_with_error(context.config.site(), &error.into()),
    };
    let target = redirect_target(&context, &flow);
    // Links in emails sent from here use the redirect target of the flow.
    let context = match &flow.referrer {
        Some(referrer) => context.with_redirect_to(referrer),
        None => context,
    };
    match context
        .with_deadline(complete(&context, flow, &params))
        .await
    {
        Ok(FlowResult::Code(code)) => redirects::with_code(&target, &code),
        Ok(FlowResult::Session(tokens)) => redirects::with_tokens(&target, &tokens),
        Err(rejection) => redirects::with_error(&target, &rejection),
    }
}

/// The provider's parameters: from the query, or from a form, which takes precedence.
async fn read_params(method: &Method, uri: &Uri, body: Body) -> Query {
    let query = uri.query().unwrap_or_default();
    if method != Method::POST {
        return Query::parse(query);
    }
    match Limited::new(body, MAX_FORM_BYTES).collect().await {
        Ok(form) => {
            let form = form.to_bytes();
            Query::parse(&format!("{}&{query}", String::from_utf8_lossy(&form)))
        }
        Err(_) => Query::parse(query),
    }
}

/// The flow of this state, if it is still pending.
async fn find_flow(context: &RequestContext, state: &str) -> Result<Flow, AuthError> {
    if state.is_empty() {
        return Err(AuthError::oauth_state_missing());
    }
    let id: Uuid = state
        .parse()
        .map_err(|_| AuthError::oauth_state_malformed())?;
    let mut db = context.db().await?;
    let flow = flows::lock(&mut db, id).await?;
    let flow = flow.filter(|flow| flow.authentication_method == "oauth");
    let flow = flow.ok_or_else(AuthError::oauth_state_not_found)?;
    if context.now > flow.created_at + context.config.external.flow_lifetime {
        return Err(AuthError::oauth_state_expired());
    }
    check_unused(&flow)?;
    if let Some(target) = flow.linking_target_id
        && users::find(&mut db, target).await?.is_none()
    {
        return Err(AuthError::linking_target_not_found());
    }
    Ok(flow)
}

/// A used flow has a user.
fn check_unused(flow: &Flow) -> Result<(), AuthError> {
    match flow.user_id {
        None => Ok(()),
        Some(_) => Err(AuthError::flow_state_already_used()),
    }
}

/// The URL of the final redirect, encoded for a header.
fn redirect_target(context: &RequestContext, flow: &Flow) -> String {
    let config = &context.config;
    let configured = config.external.redirect_url.as_deref();
    let wanted = configured.filter(|url| !url.is_empty());
    let wanted = wanted.or(flow.referrer.as_deref());
    let url = wanted.and_then(|url| Url::parse(url).ok());
    url.map_or_else(|| config.site().to_owned(), String::from)
}

enum FlowResult {
    /// To be exchanged by the client that started the flow.
    Code(String),
    Session(Box<TokenBody>),
}

async fn complete(
    context: &RequestContext,
    flow: Flow,
    params: &Query,
) -> Result<FlowResult, RedirectError> {
    let (profile, tokens) = identify(context, &flow, params).await?;
    if profile.emails.is_empty() && !flow.is_email_optional {
        return Err(AuthError::provider_email_missing().into());
    }
    let provider_user = ProviderUser {
        provider: &flow.provider_type,
        profile: &profile,
        is_email_optional: flow.is_email_optional,
    };
    if flow.linking_target_id.is_none() && flow.invite_token.is_none() {
        account::run_before_created_hook(context, &provider_user).await?;
    }
    let result = match complete_in_transaction(context, &flow, &provider_user, &tokens).await {
        // Two concurrent sign-ins of the same user: the retry finds the first one's rows.
        Err(error) if error.code() == Code::Conflict => {
            complete_in_transaction(context, &flow, &provider_user, &tokens).await
        }
        result => result,
    };
    Ok(result?)
}

/// Signs in or links, and ends the flow, in one transaction.
async fn complete_in_transaction(
    context: &RequestContext,
    flow: &Flow,
    provider_user: &ProviderUser<'_>,
    tokens: &ProviderTokens,
) -> Result<FlowResult, AuthError> {
    let mut db = context.begin().await?;
    let locked = flows::lock(&mut db, flow.id).await?;
    let flow = locked.ok_or_else(AuthError::oauth_state_not_found)?;
    check_unused(&flow)?;
    let mut outcome = match (flow.linking_target_id, &flow.invite_token) {
        (Some(target), _) => account::link(context, &mut db, target, provider_user).await?,
        (None, Some(token)) => account::accept(context, &mut db, token, provider_user).await?,
        (None, None) => account::sign_in_or_up(context, &mut db, provider_user).await?,
    };
    let rejection = outcome.rejection.take();
    let result = match rejection {
        None => Ok(issue(context, &mut db, &flow, &outcome, tokens).await?),
        Some(rejection) => Err(rejection),
    };
    let created = if outcome.is_new {
        Some(users::load_body(&mut db, outcome.user).await?)
    } else {
        None
    };
    db.commit().await?;
    if let Some(user) = created {
        accounts::run_after_created_hook(context, &user).await?;
    }
    result
}

async fn issue(
    context: &RequestContext,
    db: &mut ServiceTransaction,
    flow: &Flow,
    outcome: &SignInOutcome,
    tokens: &ProviderTokens,
) -> Result<FlowResult, AuthError> {
    if let Some(code) = &flow.auth_code {
        let (access, refresh) = (&tokens.access, &tokens.refresh);
        flows::bind(db, flow.id, outcome.user.id, access, refresh, context.now).await?;
        return Ok(FlowResult::Code(code.clone()));
    }
    let mut body = sign_in(context, db, outcome.user.clone(), SignIn::by("oauth")).await?;
    body.provider_token = Some(tokens.access.clone());
    body.provider_refresh_token = (!tokens.refresh.is_empty()).then(|| tokens.refresh.clone());
    flows::delete(db, flow.id).await?;
    Ok(FlowResult::Session(Box::new(body)))
}
