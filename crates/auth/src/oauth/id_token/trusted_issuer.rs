//! Which issuers' ID tokens are accepted, and how their claims are read.

use uuid::Uuid;

use super::IdTokenParams;
use crate::{
    AuthError,
    config::ProviderConfig,
    model::{
        Object,
        custom_providers::{self, CustomProvider},
    },
    oauth::{
        custom, oidc,
        profile_reader::{accepted_issuers, read_claims},
        provider::base_url,
        providers::{
            MissingSubject, Profile, Spec, azure,
            spec::{IdTokenSpec, Issuers},
            table,
        },
    },
    request::RequestContext,
};

/// Providers whose ID tokens are accepted from clients.
const ID_TOKEN_PROVIDERS: [&str; 8] = [
    "apple",
    "google",
    "azure",
    "facebook",
    "keycloak",
    "kakao",
    "vercel_marketplace",
    "snapchat",
];

/// A provider whose ID tokens are accepted.
pub(super) struct TrustedIssuer {
    pub(super) provider: String,
    /// Its keys verify the token.
    pub(super) issuer: String,
    pub(super) issuers: Vec<String>,
    pub(super) discovery_url: Option<String>,
    pub(super) audiences: Vec<String>,
    pub(super) skips_nonce: bool,
    pub(super) is_email_optional: bool,
    pub(super) reader: ClaimReader,
}

/// How the claims are read.
pub(super) enum ClaimReader {
    BuiltIn(&'static IdTokenSpec),
    Custom(Box<CustomProvider>),
    Standard,
}

impl TrustedIssuer {
    pub(super) fn read_profile(&self, claims: Object) -> Result<Profile, MissingSubject> {
        match &self.reader {
            ClaimReader::BuiltIn(rules) => read_claims(rules.mapping.as_ref(), claims),
            ClaimReader::Custom(row) => row.profile(claims),
            ClaimReader::Standard => Profile::from_claims(&claims),
        }
    }
}

pub(super) async fn find_trusted_issuer(
    context: &RequestContext,
    params: &IdTokenParams,
) -> Result<TrustedIssuer, AuthError> {
    if params.provider.starts_with(custom::PREFIX) {
        return trust_custom_provider(context, &params.provider).await;
    }
    let named = table::find(&params.provider);
    match named.or_else(|| find_by_issuer(context, &params.issuer)) {
        Some(spec) => trust_built_in_provider(context, spec, params),
        None => trust_listed_issuer(context, params),
    }
}

/// The built-in provider of this issuer. Its tokens are accepted only for the client ids in the
/// settings, never for one the caller names, even if the issuer is also listed in the settings.
fn find_by_issuer(context: &RequestContext, issuer: &str) -> Option<&'static Spec> {
    let providers = &context.config.external.providers;
    let configured = providers
        .iter()
        .find(|(_, config)| base_url(config).is_some_and(|url| url == issuer));
    let configured = configured
        .and_then(|(name, _)| table::find(name))
        .filter(|spec| spec.id_token.is_some());
    configured.or_else(|| table::find_by_issuer(issuer))
}

fn trust_built_in_provider(
    context: &RequestContext,
    spec: &'static Spec,
    params: &IdTokenParams,
) -> Result<TrustedIssuer, AuthError> {
    let external = &context.config.external;
    let off = ProviderConfig::default();
    let config = external.providers.get(spec.name).unwrap_or(&off);
    let id_token = spec.id_token.as_ref();
    let Some(rules) = id_token.filter(|_| ID_TOKEN_PROVIDERS.contains(&spec.name)) else {
        return Err(AuthError::oidc_provider_not_allowed(&params.provider));
    };
    let issuer = built_in_issuer(rules, config, &params.id_token)?;
    let issuers = accepted_issuers(rules, issuer.clone());
    if !params.issuer.is_empty() && !issuers.contains(&params.issuer) {
        return Err(AuthError::validation_failed(
            "Provided issuer does not match ID token issuer",
        ));
    }
    if !config.is_enabled {
        return Err(AuthError::provider_disabled(&issuer));
    }
    let mut audiences = config.client_ids.clone();
    if spec.name == "apple" {
        audiences.extend(external.ios_bundle_id.clone());
    }
    Ok(TrustedIssuer {
        provider: spec.name.to_owned(),
        issuer,
        issuers,
        discovery_url: None,
        audiences,
        skips_nonce: rules.skips_nonce || config.skips_nonce_check,
        is_email_optional: config.is_email_optional,
        reader: ClaimReader::BuiltIn(rules),
    })
}

/// The issuer whose keys verify a token of this provider.
fn built_in_issuer(
    rules: &IdTokenSpec,
    config: &ProviderConfig,
    id_token: &str,
) -> Result<String, AuthError> {
    let claimed = oidc::claimed_issuer(id_token).unwrap_or_default();
    match (&rules.issuers, base_url(config)) {
        (Issuers::Azure, url) => {
            if is_azure(url, &claimed) {
                Ok(claimed)
            } else {
                Err(AuthError::validation_failed(
                    "Detected ID token issuer is not an Azure ID token issuer",
                ))
            }
        }
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

/// If a tenant is configured by id, only its tokens are accepted. A tenant's name cannot be
/// compared: tokens contain the id only.
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

async fn trust_custom_provider(
    context: &RequestContext,
    identifier: &str,
) -> Result<TrustedIssuer, AuthError> {
    if !context.config.custom_providers.is_enabled {
        return Err(AuthError::custom_providers_disabled_on_grant());
    }
    let mut db = context.db().await?;
    let Some(row) = custom_providers::find(&mut db, identifier).await? else {
        let text = format!("Custom provider {identifier:?} not found");
        return Err(AuthError::validation_failed(text));
    };
    if !row.enabled {
        return Err(AuthError::custom_provider_disabled(identifier));
    }
    let Some(issuer) = row.issuer.clone().filter(|_| row.is_openid()) else {
        let text = format!("Provider {identifier:?} is not an OIDC provider");
        return Err(AuthError::validation_failed(text));
    };
    Ok(TrustedIssuer {
        provider: row.identifier.clone(),
        issuers: vec![issuer.clone()],
        issuer,
        discovery_url: row.discovery_url().map(str::to_owned),
        audiences: row.audiences(),
        skips_nonce: row.skip_nonce_check,
        is_email_optional: row.email_optional,
        reader: ClaimReader::Custom(Box::new(row)),
    })
}

/// An issuer listed in the settings, with the client id that the client names.
fn trust_listed_issuer(
    context: &RequestContext,
    params: &IdTokenParams,
) -> Result<TrustedIssuer, AuthError> {
    let issuers = &context.config.external.id_token_issuers;
    if params.issuer.is_empty() || !issuers.contains(&params.issuer) {
        return Err(AuthError::oidc_provider_not_allowed(&params.provider));
    }
    Ok(TrustedIssuer {
        provider: params.issuer.clone(),
        issuer: params.issuer.clone(),
        issuers: vec![params.issuer.clone()],
        discovery_url: None,
        audiences: vec![params.client_id.clone()],
        skips_nonce: false,
        is_email_optional: false,
        reader: ClaimReader::Standard,
    })
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
