//! Reads the user's profile from the provider after the callback (auth contract §2.8, step 5).

use serde::Deserialize;

use super::{
    exchange, oauth1, profile_reader,
    provider::{Provider, ProviderError},
    providers::{Profile, spec::Quirk},
    redirects::RedirectError,
};
use crate::{
    AuthError,
    model::{
        Flow,
        client_states::{self, ClientState},
    },
    request::{Query, RequestContext},
};

/// The provider's tokens as sent to clients.
pub(super) struct ProviderTokens {
    pub(super) access: String,
    pub(super) refresh: String,
}

/// Reads the profile of the user who signs in.
pub(super) async fn identify(
    context: &RequestContext,
    flow: &Flow,
    params: &Query,
) -> Result<(Profile, ProviderTokens), RedirectError> {
    if flow.provider_type == "twitter" {
        identify_oauth1(context, flow, params).await
    } else {
        identify_oauth2(context, flow, params).await
    }
}

/// Exchanges the code for tokens and reads the profile with them.
async fn identify_oauth2(
    context: &RequestContext,
    flow: &Flow,
    params: &Query,
) -> Result<(Profile, ProviderTokens), RedirectError> {
    let error = params.get("error");
    if !error.is_empty() {
        let description = params.get("error_description");
        return Err(RedirectError::from_provider(error, description));
    }
    let code = params.get("code");
    if code.is_empty() {
        return Err(AuthError::oauth_code_missing().into());
    }
    let provider = load_provider(context, flow).await?;
    let state = take_client_state(context, flow).await?;
    if provider.uses_pkce && state.is_none() {
        return Err(AuthError::provider_code_verifier_missing().into());
    }
    let verifier = state.as_ref().map(|state| state.secret.as_str());
    let tokens = exchange::exchange_code(context, &provider, code, verifier).await;
    let tokens = tokens.map_err(|cause| AuthError::exchanging_code_failed(code, cause))?;
    let profile = profile_reader::read_profile(context, &provider, &tokens).await;
    let mut profile = profile.map_err(AuthError::reading_provider_profile_failed)?;
    if provider.quirk() == Quirk::Apple {
        set_name_from_apple(&mut profile, params.get("user"));
    }
    let tokens = ProviderTokens {
        access: tokens.access_token,
        refresh: tokens.refresh_token,
    };
    Ok((profile, tokens))
}

async fn identify_oauth1(
    context: &RequestContext,
    flow: &Flow,
    params: &Query,
) -> Result<(Profile, ProviderTokens), RedirectError> {
    if !params.get("denied").is_empty() {
        return Err(RedirectError::from_provider("access_denied", ""));
    }
    let provider = load_provider(context, flow).await?;
    let state = take_client_state(context, flow).await?;
    let request = state.and_then(|state| oauth1::Token::from_stored(&state.secret));
    let request = request.filter(|request| request.text == params.get("oauth_token"));
    let request = request.ok_or_else(AuthError::oauth1_token_mismatch)?;
    let verifier = params.get("oauth_verifier");
    let access = oauth1::access_token(context, &provider, &request, verifier).await;
    let access = access.map_err(AuthError::exchanging_oauth1_token_failed)?;
    let profile = oauth1::profile(context, &provider, &access).await;
    let profile = profile.map_err(AuthError::reading_provider_profile_failed)?;
    let tokens = ProviderTokens {
        access: access.text,
        refresh: String::new(),
    };
    Ok((profile, tokens))
}

async fn load_provider(context: &RequestContext, flow: &Flow) -> Result<Provider, AuthError> {
    let provider = Provider::load(context, &flow.provider_type).await;
    provider.map_err(|reason| match reason {
        ProviderError::Failed(error) => error,
        reason => AuthError::provider_not_supported(reason),
    })
}

/// Takes the state stored before the redirect. It can be used once.
async fn take_client_state(
    context: &RequestContext,
    flow: &Flow,
) -> Result<Option<ClientState>, AuthError> {
    let Some(id) = flow.oauth_client_state_id else {
        return Ok(None);
    };
    let mut db = context.db().await?;
    let state = client_states::take_state(&mut db, id).await?;
    let state = state.ok_or_else(AuthError::client_state_not_found)?;
    if state.provider_type != flow.provider_type {
        return Err(AuthError::provider_mismatch());
    }
    if state.is_expired(context.now) {
        return Err(AuthError::client_state_expired());
    }
    Ok(Some(state))
}

/// Apple sends the name only once, beside the code and unsigned.
fn set_name_from_apple(profile: &mut Profile, user: &str) {
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
