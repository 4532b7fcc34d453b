//! `GET|POST /callback`: back from a provider (auth contract §2.8).

use axum::{
    body::Body,
    extract::Request,
    http::{Method, Uri},
    response::Response,
};
use http_body_util::{BodyExt, Limited};
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use url::Url;
use uuid::Uuid;

use super::{
    account::{self, Entry, Visitor},
    client_states::{self, ClientState},
    exchange, oauth1, person,
    provider::{Provider, Unusable},
    providers::{Profile, spec::Quirk},
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
    let flow = match find_flow(&context, answer.get("state")).await {
        Ok(flow) => flow,
        Err(error) => return redirects::lost(context.config.site_url.as_str(), &error.into()),
    };
    let target = target(&context, &flow);
    // Letters that are sent on the way lead to where the flow was to end.
    let context = match &flow.referrer {
        Some(referrer) => context.wishing(referrer),
        None => context,
    };
    match follow(&context, flow, &answer).await {
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
    url.map_or_else(|| config.site_url.to_string(), String::from)
}

enum Followed {
    /// To be exchanged by whoever began.
    Code(String),
    Session(Box<TokenBody>),
}

/// The provider's tokens, as clients get them.
struct ProviderTokens {
    access: String,
    refresh: String,
}

async fn follow(context: &Context, flow: Flow, answer: &Query) -> Result<Followed, Refusal> {
    let (profile, tokens) = match flow.provider_type == "twitter" {
        true => meet_oauth1(context, &flow, answer).await?,
        false => meet(context, &flow, answer).await?,
    };
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

/// Learns who came: the code is exchanged for tokens, and those for a profile.
async fn meet(
    context: &Context,
    flow: &Flow,
    answer: &Query,
) -> Result<(Profile, ProviderTokens), Refusal> {
    let error = answer.get("error");
    if !error.is_empty() {
        let description = answer.get("error_description");
        return Err(Refusal::of_provider(error, description));
    }
    let code = answer.get("code");
    if code.is_empty() {
        let text = "OAuth callback with missing authorization code missing";
        return Err(AuthError::new(400, Code::BadOauthCallback, text).into());
    }
    let provider = load_provider(context, flow).await?;
    let state = take_client_state(context, flow).await?;
    if provider.uses_pkce && state.is_none() {
        let text = "OAuth PKCE code verifier missing";
        return Err(AuthError::new(400, Code::OauthInvalidState, text).into());
    }
    let verifier = state.as_ref().map(|state| state.secret.as_str());
    let tokens = exchange::exchange(context, &provider, code, verifier).await;
    let tokens = tokens.map_err(|cause| {
        let shown: String = code.chars().take(4).collect();
        AuthError::internal(format!("Unable to exchange external code: {shown}"), cause)
    })?;
    let profile = person::read(context, &provider, &tokens).await;
    let mut profile = profile.map_err(|cause| {
        let text = "Error getting user profile from external provider";
        AuthError::internal(text, cause)
    })?;
    if provider.quirk() == Quirk::Apple {
        name_from_apple(&mut profile, answer.get("user"));
    }
    let tokens = ProviderTokens {
        access: tokens.access_token,
        refresh: tokens.refresh_token,
    };
    Ok((profile, tokens))
}

async fn meet_oauth1(
    context: &Context,
    flow: &Flow,
    answer: &Query,
) -> Result<(Profile, ProviderTokens), Refusal> {
    if !answer.get("denied").is_empty() {
        return Err(Refusal::of_provider("access_denied", ""));
    }
    let provider = load_provider(context, flow).await?;
    let kept = take_client_state(context, flow).await?;
    let request = kept.and_then(|kept| oauth1::Token::from_kept(&kept.secret));
    let request = request.filter(|request| request.text == answer.get("oauth_token"));
    let request = request.ok_or_else(|| {
        AuthError::new(400, Code::OauthInvalidState, "OAuth token is another one")
    })?;
    let verifier = answer.get("oauth_verifier");
    let access = oauth1::access_token(context, &provider, &request, verifier).await;
    let access =
        access.map_err(|cause| AuthError::internal("Unable to retrieve access token", cause))?;
    let profile = oauth1::profile(context, &provider, &access).await;
    let profile = profile.map_err(|cause| {
        let text = "Error getting user profile from external provider";
        AuthError::internal(text, cause)
    })?;
    let tokens = ProviderTokens {
        access: access.text,
        refresh: String::new(),
    };
    Ok((profile, tokens))
}

async fn load_provider(context: &Context, flow: &Flow) -> Result<Provider, AuthError> {
    let provider = Provider::load(context, &flow.provider_type).await;
    provider.map_err(|reason| match reason {
        Unusable::Failed(error) => error,
        reason => AuthError::new(
            400,
            Code::OauthProviderNotSupported,
            format!("Unsupported provider: {reason}"),
        ),
    })
}

/// What was kept for this provider while the browser was away. It is given once.
async fn take_client_state(
    context: &Context,
    flow: &Flow,
) -> Result<Option<ClientState>, AuthError> {
    let Some(id) = flow.oauth_client_state_id else {
        return Ok(None);
    };
    let mut db = context.db().await?;
    let state = client_states::take(&mut db, id).await?;
    let state = state.ok_or_else(|| {
        AuthError::new(422, Code::OauthClientStateNotFound, "OAuth state not found")
    })?;
    if state.provider_type != flow.provider_type {
        let text = "OAuth provider mismatch";
        return Err(AuthError::new(400, Code::OauthInvalidState, text));
    }
    if state.is_expired(context.now) {
        let text = "OAuth state expired";
        return Err(AuthError::new(422, Code::OauthClientStateExpired, text));
    }
    Ok(Some(state))
}

/// Apple tells a person's name once, beside the code and unsigned.
fn name_from_apple(profile: &mut Profile, user: &str) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct User {
        name: Name,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Name {
        first_name: String,
        last_name: String,
    }
    let Ok(User { name }) = serde_json::from_str(user) else {
        return;
    };
    let name = format!("{} {}", name.first_name, name.last_name).replace('\0', "");
    if !name.trim().is_empty() {
        profile.set_name(name.trim());
    }
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
