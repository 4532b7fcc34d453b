//! `POST /token?grant_type=id_token`: signs in with an ID token that a client got from a provider
//! (auth contract §2.3).

mod trusted_issuer;

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::Value;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{
    account::{self, ProviderUser},
    http_client::HttpClient,
    oidc::{self, Expected, IdTokenError},
    providers::MissingSubject,
};
use crate::{
    AuthError, accounts,
    caller::SignedIn,
    error::Code,
    model::{Object, User, users},
    request::RequestContext,
    sessions::{SignIn, TokenBody, sign_in},
};
use trusted_issuer::{ClaimReader, TrustedIssuer, find_trusted_issuer};

/// The request body.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct IdTokenParams {
    id_token: String,
    provider: String,
    client_id: String,
    issuer: String,
    access_token: String,
    nonce: String,
    /// Whether to link the identity to the caller, who must be signed in.
    pub(crate) link_identity: bool,
}

/// `grant_type=id_token`. `caller` is required and used only if [`IdTokenParams::link_identity`] is
/// set.
pub(crate) async fn grant(
    context: &RequestContext,
    params: IdTokenParams,
    caller: Option<SignedIn>,
) -> Result<TokenBody, AuthError> {
    let target = linking_target(&params, caller)?;
    let trusted = find_trusted_issuer(context, &params).await?;
    let claims = verify(context, &trusted, &params).await?;
    if !trusted.skips_nonce {
        check_nonce(&claims, &params.nonce)?;
    }
    let profile = trusted.read_profile(claims);
    let profile = profile
        .map_err(|MissingSubject| AuthError::id_token_rejected("Missing sub claim in id_token"))?;
    let provider_user = ProviderUser {
        provider: &trusted.provider,
        profile: &profile,
        is_email_optional: trusted.is_email_optional,
    };
    if target.is_none() {
        account::run_before_created_hook(context, &provider_user).await?;
    }
    match sign_in_or_link(context, target, &provider_user).await {
        // Two concurrent sign-ins of the same user: the retry finds the first one's rows.
        Err(error) if error.code() == Code::Conflict => {
            sign_in_or_link(context, target, &provider_user).await
        }
        result => result,
    }
}

fn linking_target(
    params: &IdTokenParams,
    caller: Option<SignedIn>,
) -> Result<Option<Uuid>, AuthError> {
    if params.id_token.is_empty() {
        return Err(AuthError::id_token_rejected("id_token required"));
    }
    if params.provider.is_empty() && (params.client_id.is_empty() || params.issuer.is_empty()) {
        return Err(AuthError::id_token_rejected(
            "provider or client_id and issuer required",
        ));
    }
    match (params.link_identity, caller) {
        (false, _) => Ok(None),
        (true, Some(caller)) => Ok(Some(caller.user.id)),
        (true, None) => Err(AuthError::id_token_rejected(
            "Linking requires a valid user access token in Authorization",
        )),
    }
}

/// Verifies the token and returns its claims. Requests to its issuer are made only for tokens that
/// could be valid.
async fn verify(
    context: &RequestContext,
    trusted: &TrustedIssuer,
    params: &IdTokenParams,
) -> Result<Object, AuthError> {
    let access_token = params.access_token.as_str();
    let expected = Expected {
        issuers: &trusted.issuers,
        audiences: &trusted.audiences,
        access_token: (!access_token.is_empty()).then_some(access_token),
    };
    let now = context.now.unix_timestamp();
    oidc::check_unverified(&params.id_token, &expected, now).map_err(rejection)?;
    let http = match &trusted.reader {
        ClaimReader::Custom(_) => HttpClient::public_only(context),
        _ => HttpClient::configured(context),
    };
    let discovery = context.service.discovery();
    let url = trusted.discovery_url.as_deref();
    let document = discovery
        .document(context, &http, &trusted.issuer, url)
        .await;
    let document = document.map_err(AuthError::token_issuer_unreachable)?;
    let claims = oidc::verify(context, &http, &document, &params.id_token, &expected).await;
    claims.map_err(rejection)
}

fn rejection(cause: IdTokenError) -> AuthError {
    match cause {
        IdTokenError::Keys(cause) => AuthError::token_issuer_unreachable(cause),
        IdTokenError::Audience(named) => AuthError::id_token_rejected(format!(
            "Unacceptable audience in id_token: [{}]",
            named.join(" ")
        )),
        cause => {
            tracing::info!(error = %cause, "ID token rejected: {cause}");
            AuthError::id_token_rejected("Bad ID token")
        }
    }
}

/// Compares the hash of the client's nonce with the one in the token, which binds the token to the
/// client.
fn check_nonce(claims: &Object, given: &str) -> Result<(), AuthError> {
    let claimed = claims.get("nonce").and_then(Value::as_str).unwrap_or("");
    if claimed.is_empty() != given.is_empty() {
        return Err(AuthError::id_token_rejected(
            "Passed nonce and nonce in id_token should either both exist or not.",
        ));
    }
    if given.is_empty() {
        return Ok(());
    }
    let hash = HEXLOWER.encode(digest::digest(&digest::SHA256, given.as_bytes()).as_ref());
    if bool::from(hash.as_bytes().ct_eq(claimed.as_bytes())) {
        Ok(())
    } else {
        Err(AuthError::nonce_mismatch())
    }
}

async fn sign_in_or_link(
    context: &RequestContext,
    target: Option<Uuid>,
    provider_user: &ProviderUser<'_>,
) -> Result<TokenBody, AuthError> {
    let mut db = context.begin().await?;
    let mut outcome = match target {
        Some(target) => account::link(context, &mut db, target, provider_user).await?,
        None => account::sign_in_or_up(context, &mut db, provider_user).await?,
    };
    let user: User = outcome.user.clone();
    let signed_in = match outcome.rejection.take() {
        None => Ok(sign_in(context, &mut db, user, SignIn::by("oauth")).await?),
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
    signed_in
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nonce_is_compared_by_its_hash() {
        let claims = |nonce: Value| json!({ "nonce": nonce }).as_object().cloned().expect("one");
        // SHA-256 of "abc", the first vector of FIPS 180.
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let check = |claimed: &str, given: &str| check_nonce(&claims(json!(claimed)), given);

        assert!(check(hash, "abc").is_ok());
        assert!(check("", "").is_ok());
        assert!(check_nonce(&Object::new(), "").is_ok());
        assert!(check("abc", "abc").is_err());
        assert!(check(&hash.to_uppercase(), "abc").is_err());
        assert!(check(hash, "").is_err());
        assert!(check("", "abc").is_err());
    }
}
