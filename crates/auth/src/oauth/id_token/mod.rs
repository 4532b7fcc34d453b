//! `POST /token?grant_type=id_token`: a client brings what a provider signed
//! (auth contract §2.3).

mod trust;

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::Value;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{
    account::{self, Visitor},
    oidc::{self, Expected, IdTokenError},
    providers::Nobody,
    web::Web,
};
use crate::{
    AuthError, accounts,
    error::Code,
    model::{Object, User, users},
    request::{Context, SignedIn},
    sessions::{SignIn, TokenBody, sign_in},
};
use trust::{Reader, Trusted, trust};

/// The body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct IdTokenParams {
    id_token: String,
    provider: String,
    client_id: String,
    issuer: String,
    access_token: String,
    nonce: String,
    /// Whether the caller must be signed in, and the identity becomes theirs.
    pub(crate) link_identity: bool,
}

/// `grant_type=id_token`. `caller` is who is signed in; needed, and looked at, only where
/// [`IdTokenParams::link_identity`] is set.
pub(crate) async fn grant(
    context: &Context,
    params: IdTokenParams,
    caller: Option<SignedIn>,
) -> Result<TokenBody, AuthError> {
    let target = linking_target(&params, caller)?;
    let trusted = trust(context, &params).await?;
    let claims = verify(context, &trusted, &params).await?;
    if !trusted.skips_nonce {
        check_nonce(&claims, &params.nonce)?;
    }
    let profile = trusted.read(claims);
    let profile = profile.map_err(|Nobody| refuse("Missing sub claim in id_token"))?;
    let visitor = Visitor {
        provider: &trusted.provider,
        profile: &profile,
        is_email_optional: trusted.is_email_optional,
    };
    if target.is_none() {
        account::announce(context, &visitor).await?;
    }
    match conclude(context, target, &visitor).await {
        // Somebody came twice at once; by now the first is in.
        Err(error) if error.code() == Code::Conflict => conclude(context, target, &visitor).await,
        concluded => concluded,
    }
}

fn refuse(description: impl Into<std::borrow::Cow<'static, str>>) -> AuthError {
    AuthError::oauth("invalid request", description)
}

fn linking_target(
    params: &IdTokenParams,
    caller: Option<SignedIn>,
) -> Result<Option<Uuid>, AuthError> {
    if params.id_token.is_empty() {
        return Err(refuse("id_token required"));
    }
    if params.provider.is_empty() && (params.client_id.is_empty() || params.issuer.is_empty()) {
        return Err(refuse("provider or client_id and issuer required"));
    }
    match (params.link_identity, caller) {
        (false, _) => Ok(None),
        (true, Some(caller)) => Ok(Some(caller.user.id)),
        (true, None) => Err(refuse(
            "Linking requires a valid user access token in Authorization",
        )),
    }
}

async fn verify(
    context: &Context,
    trusted: &Trusted,
    params: &IdTokenParams,
) -> Result<Object, AuthError> {
    let web = match &trusted.reader {
        Reader::Custom(_) => Web::guarded(context),
        _ => Web::configured(context),
    };
    let discovery = context.service.discovery();
    let url = trusted.discovery_url.as_deref();
    let document = discovery
        .document(context, &web, &trusted.issuer, url)
        .await;
    let document = document
        .map_err(|cause| AuthError::internal("Unable to reach the token's issuer", cause))?;
    let access_token = params.access_token.as_str();
    let expected = Expected {
        issuers: &trusted.issuers,
        audiences: &trusted.audiences,
        access_token: (!access_token.is_empty()).then_some(access_token),
    };
    let claims = oidc::verify(context, &web, &document, &params.id_token, &expected).await;
    claims.map_err(|cause| match cause {
        IdTokenError::Keys(cause) => {
            AuthError::internal("Unable to reach the token's issuer", cause)
        }
        IdTokenError::Audience(named) => refuse(format!(
            "Unacceptable audience in id_token: [{}]",
            named.join(" ")
        )),
        cause => {
            tracing::info!(error = %cause, "an ID token was refused: {cause}");
            refuse("Bad ID token")
        }
    })
}

/// The token carries the hash of what the client made up, so that nobody else can bring it.
fn check_nonce(claims: &Object, given: &str) -> Result<(), AuthError> {
    let claimed = claims.get("nonce").and_then(Value::as_str).unwrap_or("");
    if claimed.is_empty() != given.is_empty() {
        return Err(refuse(
            "Passed nonce and nonce in id_token should either both exist or not.",
        ));
    }
    if given.is_empty() {
        return Ok(());
    }
    let hash = HEXLOWER.encode(digest::digest(&digest::SHA256, given.as_bytes()).as_ref());
    match bool::from(hash.as_bytes().ct_eq(claimed.as_bytes())) {
        true => Ok(()),
        false => Err(AuthError::oauth("invalid nonce", "Nonces mismatch")),
    }
}

async fn conclude(
    context: &Context,
    target: Option<Uuid>,
    visitor: &Visitor<'_>,
) -> Result<TokenBody, AuthError> {
    let mut db = context.begin().await?;
    let mut entry = match target {
        Some(target) => account::link(context, &mut db, target, visitor).await?,
        None => account::enter(context, &mut db, visitor).await?,
    };
    let user: User = entry.user.clone();
    let signed_in = match entry.refusal.take() {
        None => Ok(sign_in(context, &mut db, user, SignIn::by("oauth")).await?),
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
