//! Whose ID tokens are taken, and on which terms.

use uuid::Uuid;

use super::IdTokenParams;
use crate::{
    AuthError,
    config::ProviderConfig,
    error::Code,
    model::Object,
    oauth::{
        custom::{self, CustomProvider},
        oidc,
        person::{accepted_issuers, read_claims},
        provider::base_url,
        providers::{
            Nobody, Profile, Spec, azure,
            spec::{IdTokenSpec, Issuers},
            table,
        },
    },
    request::Context,
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

/// A provider whose tokens are taken.
pub(super) struct Trusted {
    pub(super) provider: String,
    /// Whose keys check the token.
    pub(super) issuer: String,
    pub(super) issuers: Vec<String>,
    pub(super) discovery_url: Option<String>,
    pub(super) audiences: Vec<String>,
    pub(super) skips_nonce: bool,
    pub(super) is_email_optional: bool,
    pub(super) reader: Reader,
}

/// What the claims mean.
pub(super) enum Reader {
    BuiltIn(&'static IdTokenSpec),
    Custom(Box<CustomProvider>),
    Usual,
}

impl Trusted {
    pub(super) fn read(&self, claims: Object) -> Result<Profile, Nobody> {
        match &self.reader {
            Reader::BuiltIn(rules) => read_claims(rules.mapping.as_ref(), claims),
            Reader::Custom(row) => row.profile(claims),
            Reader::Usual => Profile::of_claims(&claims),
        }
    }
}

pub(super) async fn trust(context: &Context, params: &IdTokenParams) -> Result<Trusted, AuthError> {
    if params.provider.starts_with(custom::PREFIX) {
        return trust_custom(context, &params.provider).await;
    }
    let named = table::find(&params.provider);
    match named.or_else(|| find_by_issuer(context, &params.issuer)) {
        Some(spec) => trust_built_in(context, spec, params),
        None => trust_issuer(context, params),
    }
}

/// The built-in provider that this is the issuer of. Its tokens are taken for the clients that the
/// settings name, never for one that the caller does, however many issuers are listed.
fn find_by_issuer(context: &Context, issuer: &str) -> Option<&'static Spec> {
    let providers = &context.config.external.providers;
    let configured = providers
        .iter()
        .find(|(_, config)| base_url(config).is_some_and(|url| url == issuer));
    let configured = configured
        .and_then(|(name, _)| table::find(name))
        .filter(|spec| spec.id_token.is_some());
    configured.or_else(|| table::find_by_issuer(issuer))
}

fn trust_built_in(
    context: &Context,
    spec: &'static Spec,
    params: &IdTokenParams,
) -> Result<Trusted, AuthError> {
    let external = &context.config.external;
    let off = ProviderConfig::default();
    let config = external.providers.get(spec.name).unwrap_or(&off);
    let brought = spec.id_token.as_ref();
    let Some(rules) = brought.filter(|_| BROUGHT.contains(&spec.name)) else {
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
    let Some(row) = custom::find(&mut db, identifier).await? else {
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

#[cfg(test)]
mod tests {
    use super::*;

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
