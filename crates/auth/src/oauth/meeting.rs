//! Who came back: what the provider's answer is worth (auth contract §2.8, step 5).

use serde::Deserialize;

use super::{
    client_states::{self, ClientState},
    exchange, oauth1, person,
    provider::{Provider, Unusable},
    providers::{Profile, spec::Quirk},
    redirects::Refusal,
};
use crate::{
    AuthError,
    error::Code,
    model::Flow,
    request::{Context, Query},
};

/// The provider's tokens, as clients get them.
pub(super) struct ProviderTokens {
    pub(super) access: String,
    pub(super) refresh: String,
}

/// Learns who came.
pub(super) async fn meet(
    context: &Context,
    flow: &Flow,
    answer: &Query,
) -> Result<(Profile, ProviderTokens), Refusal> {
    match flow.provider_type == "twitter" {
        true => meet_oauth1(context, flow, answer).await,
        false => meet_oauth2(context, flow, answer).await,
    }
}

/// The code is exchanged for tokens, and those for a profile.
async fn meet_oauth2(
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
