//! `GET /authorize` and `GET /user/identities/authorize`: redirects to a provider (auth contract
//! §2.8, §2.9).

use std::collections::HashSet;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::{
    account, oauth1,
    provider::{Kind, Provider, ProviderError},
    providers::spec::Quirk,
    redirects,
};
use crate::{
    AuthError,
    caller::SignedIn,
    model::{Flow, FlowMethod, client_states, flows},
    pkce::{Challenge, s256_challenge},
    rate_limit::{self, Bucket},
    request::{Query, RequestContext},
};

/// Parameters that clients cannot set.
pub(super) const RESERVED_PARAMS: [&str; 8] = [
    "client_id",
    "client_secret",
    "redirect_uri",
    "response_type",
    "state",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
];

/// Parameters for this server, which are not forwarded to the provider.
const OWN_PARAMS: [&str; 5] = [
    "provider",
    "scopes",
    "redirect_to",
    "invite_token",
    "skip_http_redirect",
];

/// `GET /authorize`
pub(crate) async fn authorize(
    context: RequestContext,
    query: Query,
) -> Result<Response, AuthError> {
    let url = begin_flow(&context, &query, None).await?;
    redirects::found_redirect(&url)
}

/// `GET /user/identities/authorize`: as `/authorize`, but links the identity to the caller.
pub(crate) async fn link(
    context: RequestContext,
    caller: SignedIn,
    query: Query,
) -> Result<Response, AuthError> {
    check_manual_linking(&context)?;
    let url = begin_flow(&context, &query, Some(caller.user.id)).await?;
    if query.get("skip_http_redirect") == "true" {
        Ok(Json(json!({ "url": url })).into_response())
    } else {
        redirects::found_redirect(&url)
    }
}

pub(super) fn check_manual_linking(context: &RequestContext) -> Result<(), AuthError> {
    if context.config.is_manual_linking_enabled {
        Ok(())
    } else {
        Err(AuthError::manual_linking_disabled())
    }
}

/// Stores the flow and returns the provider's authorization URL.
async fn begin_flow(
    context: &RequestContext,
    query: &Query,
    linking_target: Option<Uuid>,
) -> Result<String, AuthError> {
    let name = query.get("provider");
    let provider = Provider::load(context, name).await.map_err(unsupported)?;
    let challenge = Challenge::parse(
        query.get("code_challenge"),
        query.get("code_challenge_method"),
    )?;
    let invite_token = query.get("invite_token");
    if !invite_token.is_empty() {
        check_invitation(context, invite_token).await?;
    }
    let auth_code = challenge
        .as_ref()
        .map(|_| crate::random::uuid().to_string());
    let mut flow = Flow {
        id: crate::random::uuid(),
        user_id: None,
        auth_code,
        challenge,
        provider_type: provider.name.clone(),
        provider_access_token: None,
        provider_refresh_token: None,
        authentication_method: FlowMethod::OAuth.as_str().to_owned(),
        created_at: context.now,
        auth_code_issued_at: None,
        invite_token: (!invite_token.is_empty()).then(|| invite_token.to_owned()),
        referrer: Some(context.redirect_to().replace('\0', "")),
        oauth_client_state_id: None,
        linking_target_id: linking_target,
        is_email_optional: provider.is_email_optional,
    };
    let (url, secret) = build_redirect(context, &provider, flow.id, query).await?;

    let mut db = context.begin().await?;
    if let Some(secret) = secret {
        let state = client_states::insert(&mut db, &provider.name, &secret, context.now).await?;
        flow.oauth_client_state_id = Some(state);
    }
    flows::insert(&mut db, &flow).await?;
    db.commit().await?;
    Ok(url)
}

/// The provider's authorization URL, and the secret to store until the callback.
async fn build_redirect(
    context: &RequestContext,
    provider: &Provider,
    flow: Uuid,
    query: &Query,
) -> Result<(String, Option<String>), AuthError> {
    if provider.quirk() == Quirk::Twitter {
        // OAuth 1.0a carries the state in the callback URL and uses a secret per request.
        let callback = format!("{}?state={flow}", provider.redirect_uri);
        let request = oauth1::request_token(context, provider, &callback).await;
        let request = request.map_err(AuthError::requesting_oauth1_token_failed)?;
        let url = oauth1::authenticate_url(provider, &request);
        return Ok((url, Some(request.to_stored())));
    }
    let verifier = provider.uses_pkce.then(crate::random::url_text::<32>);
    let url = authorization_url(provider, &flow.to_string(), verifier.as_deref(), query);
    let url =
        url.ok_or_else(|| AuthError::authorize_provider_not_supported("it has no address"))?;
    Ok((url, verifier))
}

fn unsupported(reason: ProviderError) -> AuthError {
    match reason {
        ProviderError::Failed(error) => error,
        ProviderError::Http(cause) => {
            tracing::warn!(error = %cause, "OpenID discovery of a provider failed: {cause}");
            AuthError::authorize_provider_not_supported(ProviderError::Http(cause))
        }
        ProviderError::NotOffered(text) => AuthError::authorize_provider_not_supported(text),
    }
}

/// Rate limited like `/verify`, since the response reveals whether a token is valid.
async fn check_invitation(context: &RequestContext, token: &str) -> Result<(), AuthError> {
    rate_limit::check_shared(context, Bucket::Verify).await?;
    let mut db = context.db().await?;
    match account::find_invited(context, &mut db, token).await? {
        Some(_) => Ok(()),
        None => Err(AuthError::invited_user_not_found()),
    }
}

/// The provider's authorization URL with its parameters.
fn authorization_url(
    provider: &Provider,
    state: &str,
    verifier: Option<&str>,
    query: &Query,
) -> Option<String> {
    let mut url = Url::parse(&provider.authorization_url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let mut params = Params::default();
    params.set("response_type", "code");
    params.set("client_id", &provider.client_id);
    params.set("redirect_uri", &provider.redirect_uri);
    params.set("state", state);
    let scopes = provider.scopes(query.get("scopes")).join(" ");
    if !scopes.is_empty() {
        params.set("scope", &scopes);
    }
    match provider.quirk() {
        Quirk::Apple => params.set("response_mode", "form_post"),
        _ => forward_params(&mut params, query),
    }
    if let Some(verifier) = verifier {
        params.set("code_challenge", &s256_challenge(verifier));
        params.set("code_challenge_method", "S256");
    }
    if let Kind::Custom { row, .. } = &provider.kind {
        for (name, value) in &row.authorization_params {
            params.set(name, value.as_str().unwrap_or_default());
        }
    }
    url.query_pairs_mut().extend_pairs(params.0);
    Some(url.to_string())
}

/// Forwards the other parameters of the request.
fn forward_params(params: &mut Params, query: &Query) {
    let mut seen = HashSet::new();
    for (name, value) in query.iter() {
        let lower = name.to_ascii_lowercase();
        let is_excluded = OWN_PARAMS.contains(&name) || RESERVED_PARAMS.contains(&lower.as_str());
        if is_excluded || !seen.insert(name) {
            continue;
        }
        match name {
            "workos_provider" => params.set("provider", value),
            _ => params.set(name, value),
        }
    }
}

/// Parameters in insertion order; a later one replaces an earlier one of the same name.
#[derive(Default)]
struct Params(Vec<(String, String)>);

impl Params {
    fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use plinth_token::Secret;

    use super::*;
    use crate::{
        config::ProviderConfig,
        oauth::providers::{spec::ClientAuth, table},
    };

    fn provider(name: &str) -> Provider {
        let spec = table::find(name).expect("a provider");
        Provider {
            name: name.to_owned(),
            kind: Kind::BuiltIn {
                spec,
                config: ProviderConfig::default(),
            },
            client_id: "ours".to_owned(),
            secret: Secret::new("secret"),
            redirect_uri: "https://api.test/auth/v1/callback".to_owned(),
            authorization_url: "https://idp.test/authorize?tenant=1".to_owned(),
            token_url: String::new(),
            client_auth: ClientAuth::Header,
            uses_pkce: spec.uses_pkce,
            is_email_optional: false,
        }
    }

    #[track_caller]
    fn check(name: &str, query: &str, expected: &[(&str, &str)]) {
        let query = Query::parse(query);
        let verifier = provider(name).uses_pkce.then_some("verifier");
        let url =
            authorization_url(&provider(name), "the-state", verifier, &query).expect("an address");
        let url = Url::parse(&url).expect("a URL");
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let common = [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "ours"),
            ("redirect_uri", "https://api.test/auth/v1/callback"),
            ("state", "the-state"),
        ];
        let expected: Vec<(String, String)> = common
            .iter()
            .chain(expected)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(pairs, expected);
    }

    #[test]
    fn scopes_are_added_where_the_provider_takes_them() {
        check(
            "github",
            "provider=github&scopes=repo,read:org",
            &[("scope", "user:email repo read:org")],
        );
        check(
            "google",
            "scopes=https://a.test/x%20https://a.test/y",
            &[("scope", "email profile https://a.test/x https://a.test/y")],
        );
        check("bitbucket", "scopes=more", &[("scope", "account email")]);
        check("zoom", "scopes=more", &[]);
    }

    #[test]
    fn other_parameters_are_forwarded_and_reserved_ones_are_not() {
        check(
            "github",
            "prompt=login&prompt=none&login_hint=a%40b.c&nonce=n&state=forged&REDIRECT_URI=x\
             &client_id=y&redirect_to=z&invite_token=t&code_challenge=c&Response_Type=token",
            &[
                ("scope", "user:email"),
                ("prompt", "login"),
                ("login_hint", "a@b.c"),
                ("nonce", "n"),
            ],
        );
        check(
            "workos",
            "connection=c&workos_provider=GoogleOAuth",
            &[("connection", "c"), ("provider", "GoogleOAuth")],
        );
    }

    #[test]
    fn apple_gets_no_other_parameters() {
        check(
            "apple",
            "prompt=login",
            &[("scope", "email name"), ("response_mode", "form_post")],
        );
    }

    #[test]
    fn x_gets_a_code_challenge() {
        check(
            "x",
            "",
            &[
                ("scope", "users.email tweet.read users.read offline.access"),
                (
                    "code_challenge",
                    "iMnq5o6zALKXGivsnlom_0F5_WYda32GHkxlV7mq7hQ",
                ),
                ("code_challenge_method", "S256"),
            ],
        );
    }
}
