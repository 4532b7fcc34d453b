//! `GET /oauth/authorize`: an application requests access.

use axum::{extract::RawQuery, response::Response};
use http::StatusCode;
use url::Url;
use uuid::Uuid;

use super::{enabled::Enabled, redirect_uri::with_query, scopes};
use crate::{
    AuthError,
    model::{
        oauth_authorizations::{self, Authorization},
        oauth_clients::{self, Client},
    },
    pkce::Challenge,
    random,
    rate_limit::{self, Bucket},
    redirect::redirect,
    request::RequestContext,
    request::page::{QueryPairs, find_value, parse_pairs},
};

const MAX_STATE_CHARACTERS: usize = 4096;
const MAX_RESOURCE_CHARACTERS: usize = 2048;
const MAX_NONCE_CHARACTERS: usize = 255;

/// `GET /oauth/authorize`. Errors are returned directly until the redirect URI is validated; later
/// ones are sent to the application in the redirect.
pub(crate) async fn authorize(
    Enabled(context): Enabled,
    RawQuery(query): RawQuery,
) -> Result<Response, AuthError> {
    rate_limit::check(&context, Bucket::Authorization)?;
    let params = parse_pairs(query.as_deref());
    let client_id = required(&params, "client_id")?;
    let redirect_uri = required(&params, "redirect_uri")?;
    let mut db = context.db().await?;
    let client = match client_id.parse::<Uuid>() {
        Ok(id) => oauth_clients::find(&mut db, id).await?,
        Err(_) => None,
    };
    let client = client.ok_or_else(AuthError::invalid_client_id)?;
    if !client.redirect_uris.iter().any(|uri| uri == redirect_uri) {
        return Err(AuthError::validation_failed("invalid redirect_uri"));
    }

    let state = find_value(&params, "state").unwrap_or_default();
    let fail = |error: &str, description: &str| {
        let pairs = [
            ("error", error),
            ("error_description", description),
            ("state", state),
        ];
        redirect(StatusCode::FOUND, &with_query(redirect_uri, &pairs))
    };
    let authorization = match validate(&context, &client, redirect_uri, &params) {
        Ok(authorization) => authorization,
        Err(reason) => return fail("invalid_request", &reason),
    };
    let Some(page) = consent_page(&context, &authorization.authorization_id) else {
        return fail("server_error", "oauth authorization path not configured");
    };
    oauth_authorizations::insert(&mut db, &authorization).await?;
    redirect(StatusCode::FOUND, &page)
}

fn required<'a>(params: &'a QueryPairs, name: &'static str) -> Result<&'a str, AuthError> {
    find_value(params, name).ok_or_else(|| AuthError::field_required(name))
}

/// The authorization request, or why it is invalid.
fn validate(
    context: &RequestContext,
    client: &Client,
    redirect_uri: &str,
    params: &QueryPairs,
) -> Result<Authorization, String> {
    let text = |name| find_value(params, name).unwrap_or_default();
    let rules = &context.config.oauth_server;
    let scope = find_value(params, "scope").unwrap_or(&rules.default_scope);
    if !matches!(text("response_type"), "" | "code") {
        return Err("only response_type=code is supported".to_owned());
    }
    scopes::check(scope)?;
    check_resource(text("resource"))?;
    for (name, max) in [
        ("state", MAX_STATE_CHARACTERS),
        ("resource", MAX_RESOURCE_CHARACTERS),
        ("nonce", MAX_NONCE_CHARACTERS),
    ] {
        if text(name).chars().count() > max {
            return Err(format!("{name} cannot exceed {max} characters"));
        }
        if text(name).contains('\0') {
            return Err(format!("{name} must not contain the NUL character"));
        }
    }
    let challenge = Challenge::parse(text("code_challenge"), text("code_challenge_method"));
    let challenge = challenge
        .map_err(|error| error.to_string())?
        .ok_or("PKCE flow requires both code_challenge and code_challenge_method")?;
    Ok(Authorization {
        id: random::uuid(),
        authorization_id: random::url_text::<24>(),
        client_id: client.id,
        user_id: None,
        redirect_uri: redirect_uri.to_owned(),
        scope: scopes::parse(scope).join(" "),
        state: text("state").to_owned(),
        resource: text("resource").to_owned(),
        nonce: text("nonce").to_owned(),
        challenge: Some(challenge),
        is_pending: true,
        created_at: context.now,
        expires_at: context.now + rules.authorization_lifetime,
    })
}

/// RFC 8707: an absolute URI without query and fragment.
fn check_resource(resource: &str) -> Result<(), &'static str> {
    if resource.is_empty() {
        return Ok(());
    }
    let url = Url::parse(resource).map_err(|_| "resource must be an absolute URI")?;
    match (url.fragment(), url.query()) {
        (Some(_), _) => Err("resource must not include a fragment component"),
        (_, Some(_)) => Err("resource must not include a query component"),
        (None, None) => Ok(()),
    }
}

/// The consent page of the site.
fn consent_page(context: &RequestContext, authorization_id: &str) -> Option<String> {
    let path = context.config.oauth_server.authorization_path.as_str();
    if path.is_empty() {
        return None;
    }
    let site = context.config.site().trim_end_matches('/');
    let path = path.trim_start_matches('/');
    let page = format!("{site}/{path}");
    Some(with_query(&page, &[("authorization_id", authorization_id)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_absolute_and_bare() {
        for resource in ["", "https://api.test", "https://api.test/mcp", "urn:x:y"] {
            assert!(check_resource(resource).is_ok(), "{resource}");
        }
        for resource in ["/mcp", "api.test", "https://a.test?x=1", "https://a.test#x"] {
            assert!(check_resource(resource).is_err(), "{resource}");
        }
    }
}
