//! `POST /token?grant_type=id_token`: a client brings what a provider signed
//! (auth contract §2.3).

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::Value;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{
    account::{self, Visitor},
    custom::{self, CustomProvider},
    oidc::{self, Expected, IdTokenError},
    person::{accepted_issuers, read_claims},
    provider::base_url,
    providers::{
        Nobody, Profile, Spec, azure,
        spec::{IdTokenSpec, Issuers},
        table,
    },
    web::Web,
};
use crate::{
    AuthError, accounts,
    config::ProviderConfig,
    error::Code,
    model::{Object, User, users},
    request::{Context, SignedIn},
    sessions::{SignIn, TokenBody, sign_in},
};

/// Providers whose ID tokens clients may bring.
const BROUGHT: [&str; 8] = [
    "apple",
    "google",
    "azure",
    "facebook",
    "keycloak",
    "kakao",
    "vercel_marketplace",
    "snapchat",
];

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

/// Whose tokens are taken, and on which terms.
struct Trusted {
    provider: String,
    /// Whose keys check the token.
    issuer: String,
    issuers: Vec<String>,
    discovery_url: Option<String>,
    audiences: Vec<String>,
    skips_nonce: bool,
    is_email_optional: bool,
    reader: Reader,
}

/// What the claims mean.
enum Reader {
    BuiltIn(&'static IdTokenSpec),
    Custom(Box<CustomProvider>),
    Usual,
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

async fn trust(context: &Context, params: &IdTokenParams) -> Result<Trusted, AuthError> {
    if params.provider.starts_with(custom::PREFIX) {
        return trust_custom(context, &params.provider).await;
    }
    match find_built_in(context, params) {
        Some(spec) => trust_built_in(context, spec, params),
        None => trust_issuer(context, params),
    }
}

fn find_built_in(context: &Context, params: &IdTokenParams) -> Option<&'static Spec> {
    let named = table::find(&params.provider);
    let keycloak = context.config.external.providers.get("keycloak");
    let is_keycloak = keycloak
        .and_then(base_url)
        .is_some_and(|url| url == params.issuer);
    let found = named.or_else(|| match is_keycloak {
        true => table::find("keycloak"),
        false => table::find_by_issuer(&params.issuer),
    });
    found.filter(|spec| BROUGHT.contains(&spec.name))
}

fn trust_built_in(
    context: &Context,
    spec: &'static Spec,
    params: &IdTokenParams,
) -> Result<Trusted, AuthError> {
    let external = &context.config.external;
    let off = ProviderConfig::default();
    let config = external.providers.get(spec.name).unwrap_or(&off);
    let Some(rules) = &spec.id_token else {
        return Err(not_allowed(&params.provider));
    };
    let issuer = built_in_issuer(rules, config, &params.id_token)?;
    let issuers = accepted_issuers(rules, issuer.clone());
    if !params.issuer.is_empty() && !issuers.contains(&params.issuer) {
        return Err(AuthError::invalid(
            "Provided issuer does not match ID token issuer",
        ));
    }
    if !config.is_enabled {
        let text = format!("Provider (issuer {issuer:?}) is not enabled");
        return Err(AuthError::new(400, Code::ProviderDisabled, text));
    }
    let mut audiences = config.client_ids.clone();
    if spec.name == "apple" {
        audiences.extend(external.ios_bundle_id.clone());
    }
    Ok(Trusted {
        provider: spec.name.to_owned(),
        issuer,
        issuers,
        discovery_url: None,
        audiences,
        skips_nonce: rules.skips_nonce || config.skips_nonce_check,
        is_email_optional: config.is_email_optional,
        reader: Reader::BuiltIn(rules),
    })
}

/// Whose keys check a token that is said to be of this provider.
fn built_in_issuer(
    rules: &IdTokenSpec,
    config: &ProviderConfig,
    id_token: &str,
) -> Result<String, AuthError> {
    let claimed = oidc::claimed_issuer(id_token).unwrap_or_default();
    match (&rules.issuers, base_url(config)) {
        (Issuers::Azure, url) => match is_azure(url, &claimed) {
            true => Ok(claimed),
            false => Err(AuthError::invalid(
                "Detected ID token issuer is not an Azure ID token issuer",
            )),
        },
        (Issuers::OneOf(_) | Issuers::Url, Some(url)) => Ok(url.to_owned()),
        (Issuers::Url, None) => Ok(String::new()),
        (Issuers::OneOf(known), None) => {
            let is_known = known.contains(&claimed.as_str()) && claimed.starts_with("https://");
            match (is_known, known.first()) {
                (true, _) => Ok(claimed),
                (false, first) => Ok(first.copied().unwrap_or_default().to_owned()),
            }
        }
    }
}

/// A configured tenant is the only one whose tokens are taken; where a tenant goes by a name,
/// tokens do not say which it is.
fn is_azure(url: Option<&str>, claimed: &str) -> bool {
    let pinned = url.and_then(azure::pinned_issuer);
    let tenant = pinned
        .as_deref()
        .and_then(|pinned| pinned.split('/').nth(3));
    let tenant = tenant.filter(|tenant| tenant.parse::<Uuid>().is_ok());
    match (tenant, url) {
        (Some(tenant), _) => {
            let older = format!("https://sts.windows.net/{tenant}/");
            Some(claimed) == pinned.as_deref() || claimed == older
        }
        (None, Some(url)) if azure::pinned_issuer(url).is_none() && claimed == url => true,
        (None, _) => azure::is_grant_issuer(claimed) || pinned.as_deref() == Some(claimed),
    }
}

async fn trust_custom(context: &Context, identifier: &str) -> Result<Trusted, AuthError> {
    if !context.config.custom_providers.is_enabled {
        return Err(AuthError::invalid("Custom OAuth providers are disabled"));
    }
    let mut db = context.db().await?;
    let found = match identifier.contains('\0') {
        true => None,
        false => custom::find(&mut db, identifier).await?,
    };
    let Some(row) = found else {
        let text = format!("Custom provider {identifier:?} not found");
        return Err(AuthError::invalid(text));
    };
    if !row.enabled {
        let text = format!("Custom provider {identifier:?} is disabled");
        return Err(AuthError::new(400, Code::ProviderDisabled, text));
    }
    let Some(issuer) = row.issuer.clone().filter(|_| row.is_openid()) else {
        let text = format!("Provider {identifier:?} is not an OIDC provider");
        return Err(AuthError::invalid(text));
    };
    Ok(Trusted {
        provider: row.identifier.clone(),
        issuers: vec![issuer.clone()],
        issuer,
        discovery_url: row.discovery_url().map(str::to_owned),
        audiences: row.audiences(),
        skips_nonce: row.skip_nonce_check,
        is_email_optional: row.email_optional,
        reader: Reader::Custom(Box::new(row)),
    })
}

/// Any issuer that the settings list, for the client id that the client names.
fn trust_issuer(context: &Context, params: &IdTokenParams) -> Result<Trusted, AuthError> {
    let issuers = &context.config.external.id_token_issuers;
    if params.issuer.is_empty() || !issuers.contains(&params.issuer) {
        return Err(not_allowed(&params.provider));
    }
    Ok(Trusted {
        provider: params.issuer.clone(),
        issuer: params.issuer.clone(),
        issuers: vec![params.issuer.clone()],
        discovery_url: None,
        audiences: vec![params.client_id.clone()],
        skips_nonce: false,
        is_email_optional: false,
        reader: Reader::Usual,
    })
}

fn not_allowed(provider: &str) -> AuthError {
    AuthError::invalid(format!("Custom OIDC provider {provider:?} not allowed"))
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

impl Trusted {
    fn read(&self, claims: Object) -> Result<Profile, Nobody> {
        match &self.reader {
            Reader::BuiltIn(rules) => read_claims(rules.mapping.as_ref(), claims),
            Reader::Custom(row) => row.profile(claims),
            Reader::Usual => Profile::of_claims(&claims),
        }
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

    #[test]
    fn azure_tokens_are_pinned_to_a_tenant_with_an_id() {
        let id = "9188040d-6c67-4c5b-b112-36a304b66dad";
        let host = "https://login.microsoftonline.com";
        let tenant = format!("{host}/{id}");
        let (ours, theirs) = (format!("{tenant}/v2.0"), format!("{host}/theirs/v2.0"));

        assert!(is_azure(Some(&tenant), &ours));
        assert!(is_azure(
            Some(&tenant),
            &format!("https://sts.windows.net/{id}/")
        ));
        assert!(!is_azure(Some(&tenant), &theirs));
        assert!(is_azure(Some(&format!("{host}/common")), &theirs));
        assert!(is_azure(Some(&format!("{host}/contoso.example")), &ours));
        assert!(is_azure(None, &theirs));
        assert!(!is_azure(None, "https://evil.test/v2.0"));
        assert!(!is_azure(None, ""));
    }
}
