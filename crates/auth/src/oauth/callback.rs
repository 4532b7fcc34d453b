//! `GET|POST /callback`: back from a provider (auth contract §2.8).

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
    account::{self, Entry, Visitor},
    meeting::{ProviderTokens, meet},
    redirects::{self, Refusal},
};
use crate::{
    AuthError, accounts,
    error::Code,
    model::{Flow, flows, users},
    request::{Context, Query},
    sessions::{SignIn, TokenBody, sign_in},
};

const MAX_FORM_BYTES: usize = 64 * 1024;

/// `GET|POST /callback`
pub(crate) async fn callback(context: Context, request: Request) -> Result<Response, AuthError> {
    let (parts, body) = request.into_parts();
    let answer = read_answer(&parts.method, &parts.uri, body).await;
    let found = context.in_time(find_flow(&context, answer.get("state")));
    let flow = match found.await {
        Ok(flow) => flow,
        Err(error) => return redirects::lost(context.config.site(), &error.into()),
    };
    let target = target(&context, &flow);
    // Letters that are sent on the way lead to where the flow was to end.
    let context = match &flow.referrer {
        Some(referrer) => context.wishing(referrer),
        None => context,
    };
    match context.in_time(follow(&context, flow, &answer)).await {
        Ok(Followed::Code(code)) => redirects::with_code(&target, &code),
        Ok(Followed::Session(tokens)) => redirects::with_tokens(&target, &tokens),
        Err(refusal) => redirects::failed(&target, &refusal),
    }
}

/// What the provider says: in the query, or in a form whose word counts first.
async fn read_answer(method: &Method, uri: &Uri, body: Body) -> Query {
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

/// The flow that the state names, if it still waits for an answer.
async fn find_flow(context: &Context, state: &str) -> Result<Flow, AuthError> {
    if state.is_empty() {
        return Err(AuthError::new(
            400,
            Code::BadOauthCallback,
            "OAuth state parameter missing",
        ));
    }
    let bad_state = |text: &'static str| AuthError::new(400, Code::BadOauthState, text);
    let id: Uuid = state
        .parse()
        .map_err(|_| bad_state("OAuth state parameter is invalid"))?;
    let mut db = context.db().await?;
    let flow = flows::lock(&mut db, id).await?;
    let flow = flow.filter(|flow| flow.authentication_method == "oauth");
    let flow = flow.ok_or_else(|| bad_state("OAuth state not found or expired"))?;
    if context.now > flow.created_at + context.config.external.flow_lifetime {
        return Err(bad_state("OAuth state has expired"));
    }
    check_unused(&flow)?;
    if let Some(target) = flow.linking_target_id
        && users::find(&mut db, target).await?.is_none()
    {
        let text = "Linking target user not found";
        return Err(AuthError::new(422, Code::UserNotFound, text));
    }
    Ok(flow)
}

/// A user is bound to a flow when it was answered.
fn check_unused(flow: &Flow) -> Result<(), AuthError> {
    match flow.user_id {
        None => Ok(()),
        Some(_) => Err(AuthError::new(
            400,
            Code::FlowStateAlreadyUsed,
            "State has already been used",
        )),
    }
}

/// Where the browser ends up, written so that it fits into a header.
fn target(context: &Context, flow: &Flow) -> String {
    let config = &context.config;
    let configured = config.external.redirect_url.as_deref();
    let wanted = configured.filter(|url| !url.is_empty());
    let wanted = wanted.or(flow.referrer.as_deref());
    let url = wanted.and_then(|url| Url::parse(url).ok());
    url.map_or_else(|| config.site().to_owned(), String::from)
}

enum Followed {
    /// To be exchanged by whoever began.
    Code(String),
    Session(Box<TokenBody>),
}

async fn follow(context: &Context, flow: Flow, answer: &Query) -> Result<Followed, Refusal> {
    let (profile, tokens) = meet(context, &flow, answer).await?;
    if profile.emails.is_empty() && !flow.is_email_optional {
        let text = "Error getting user email from external provider";
        return Err(AuthError::internal(text, "the profile has no address").into());
    }
    let visitor = Visitor {
        provider: &flow.provider_type,
        profile: &profile,
        is_email_optional: flow.is_email_optional,
    };
    if flow.linking_target_id.is_none() && flow.invite_token.is_none() {
        account::announce(context, &visitor).await?;
    }
    let followed = match conclude(context, &flow, &visitor, &tokens).await {
        // Somebody came twice at once; by now the first is in.
        Err(error) if error.code() == Code::Conflict => {
            conclude(context, &flow, &visitor, &tokens).await
        }
        followed => followed,
    };
    Ok(followed?)
}

/// The account step and the end of the flow, in one transaction.
async fn conclude(
    context: &Context,
    flow: &Flow,
    visitor: &Visitor<'_>,
    tokens: &ProviderTokens,
) -> Result<Followed, AuthError> {
    let mut db = context.begin().await?;
    let locked = flows::lock(&mut db, flow.id).await?;
    let flow = locked.ok_or_else(|| {
        AuthError::new(400, Code::BadOauthState, "OAuth state not found or expired")
    })?;
    check_unused(&flow)?;
    let mut entry = match (flow.linking_target_id, &flow.invite_token) {
        (Some(target), _) => account::link(context, &mut db, target, visitor).await?,
        (None, Some(token)) => account::accept(context, &mut db, token, visitor).await?,
        (None, None) => account::enter(context, &mut db, visitor).await?,
    };
    let refusal = entry.refusal.take();
    let followed = match refusal {
        None => Ok(finish(context, &mut db, &flow, &entry, tokens).await?),
        Some(refusal) => Err(refusal),
    };
    let created = match entry.is_new {
        true => Some(users::load_body(&mut db, entry.user).await?),
        false => None,
    };
    db.commit().await?;
    if let Some(user) = created {
        accounts::tell_after(context, &user).await?;
    }
    followed
}

async fn finish(
    context: &Context,
    db: &mut ServiceTransaction,
    flow: &Flow,
    entry: &Entry,
    tokens: &ProviderTokens,
) -> Result<Followed, AuthError> {
    if let Some(code) = &flow.auth_code {
        let (access, refresh) = (&tokens.access, &tokens.refresh);
        flows::bind(db, flow.id, entry.user.id, access, refresh, context.now).await?;
        return Ok(Followed::Code(code.clone()));
    }
    let mut body = sign_in(context, db, entry.user.clone(), SignIn::by("oauth")).await?;
    body.provider_token = Some(tokens.access.clone());
    body.provider_refresh_token = (!tokens.refresh.is_empty()).then(|| tokens.refresh.clone());
    flows::delete(db, flow.id).await?;
    Ok(Followed::Session(Box::new(body)))
}
