//! Reads the profile of the user from a provider's tokens.

use aws_lc_rs::hmac;
use data_encoding::HEXLOWER;
use serde_json::Value;

use super::{
    exchange::Tokens,
    http_client::{HttpClient, HttpError},
    oidc::{self, Document, Expected, IdTokenError},
    provider::{Kind, Provider, api_base, base_url},
    providers::{
        MissingSubject, Profile, Spec, azure,
        spec::{Api, Extra, IdTokenSpec, Issuers, Mapping, ProfileSource},
    },
};
use crate::{
    config::ProviderConfig,
    model::{Object, custom_providers::CustomProvider},
    request::RequestContext,
};

/// Why the profile could not be read. For the log.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProfileError {
    #[error("{0}")]
    Http(#[from] HttpError),
    #[error("invalid ID token: {0}")]
    IdToken(#[from] IdTokenError),
    #[error("{0}")]
    MissingSubject(#[from] MissingSubject),
    #[error("there is no ID token")]
    NoIdToken,
    #[error("ID tokens of the issuer {0:?} are not accepted")]
    Issuer(String),
}

/// Reads the profile from the ID token or the provider's API.
pub(super) async fn read_profile(
    context: &RequestContext,
    provider: &Provider,
    tokens: &Tokens,
) -> Result<Profile, ProfileError> {
    match &provider.kind {
        Kind::BuiltIn { spec, config } => {
            read_built_in(context, provider, spec, config, tokens).await
        }
        Kind::Custom { row, document } => {
            read_custom(context, row, document.as_deref(), tokens).await
        }
    }
}

async fn read_built_in(
    context: &RequestContext,
    provider: &Provider,
    spec: &Spec,
    config: &ProviderConfig,
    tokens: &Tokens,
) -> Result<Profile, ProfileError> {
    let rules = spec.id_token.as_ref();
    let id_token = tokens.id_token.as_deref();
    match &spec.profile_source {
        ProfileSource::IdToken => {
            let (rules, id_token) = rules.zip(id_token).ok_or(ProfileError::NoIdToken)?;
            read_id_token(context, provider, config, rules, id_token, tokens).await
        }
        ProfileSource::IdTokenOrApi(api) => match rules.zip(id_token) {
            Some((rules, id_token)) => {
                read_id_token(context, provider, config, rules, id_token, tokens).await
            }
            None => read_api(context, provider, config, api, &tokens.access_token).await,
        },
        ProfileSource::Api(api) => {
            read_api(context, provider, config, api, &tokens.access_token).await
        }
        ProfileSource::TokenResponse { at, base, mapping } => {
            let response = tokens.response.pointer(at).unwrap_or(&Value::Null);
            let base = base_url(config).unwrap_or(base);
            Ok(Profile::read(mapping, response, base)?)
        }
    }
}

async fn read_id_token(
    context: &RequestContext,
    provider: &Provider,
    config: &ProviderConfig,
    rules: &IdTokenSpec,
    id_token: &str,
    tokens: &Tokens,
) -> Result<Profile, ProfileError> {
    let issuer = redirect_issuer(rules, config, id_token)?;
    let http = provider.http(context);
    let discovery = context.service.discovery();
    let document = discovery.document(context, &http, &issuer, None).await?;
    let expected = Expected {
        issuers: &accepted_issuers(rules, issuer),
        audiences: std::slice::from_ref(&provider.client_id),
        access_token: Some(&tokens.access_token),
    };
    let claims = oidc::verify(context, &http, &document, id_token, &expected).await?;
    Ok(read_claims(rules.mapping.as_ref(), claims)?)
}

/// The profile from verified claims.
pub(super) fn read_claims(
    mapping: Option<&Mapping>,
    claims: Object,
) -> Result<Profile, MissingSubject> {
    match mapping {
        Some(mapping) => Profile::read(mapping, &Value::Object(claims), ""),
        None => Profile::from_claims(&claims),
    }
}

/// The issuer whose keys verify a token that came with a code.
fn redirect_issuer(
    rules: &IdTokenSpec,
    config: &ProviderConfig,
    id_token: &str,
) -> Result<String, ProfileError> {
    let url = base_url(config);
    match (&rules.issuers, url) {
        (Issuers::Azure, url) => azure_issuer(url, id_token),
        (Issuers::OneOf(_) | Issuers::Url, Some(url)) => Ok(url.to_owned()),
        (Issuers::OneOf([first, ..]), None) => Ok((*first).to_owned()),
        (Issuers::OneOf([]) | Issuers::Url, None) => Err(ProfileError::Issuer(String::new())),
    }
}

/// The configured tenant's issuer, else any of Microsoft's. URLs that are not Microsoft's are
/// issuers themselves.
fn azure_issuer(url: Option<&str>, id_token: &str) -> Result<String, ProfileError> {
    let claimed = oidc::claimed_issuer(id_token).unwrap_or_default();
    let is_good = match url.map(|url| (url, azure::pinned_issuer(url))) {
        Some((_, Some(pinned))) => claimed == pinned,
        Some((url, None)) => azure::is_issuer(&claimed) || claimed == url,
        None => azure::is_issuer(&claimed),
    };
    if is_good {
        Ok(claimed)
    } else {
        Err(ProfileError::Issuer(claimed))
    }
}

/// Apple signs with either of its two issuers.
pub(super) fn accepted_issuers(rules: &IdTokenSpec, issuer: String) -> Vec<String> {
    match &rules.issuers {
        Issuers::OneOf(known) if known.contains(&issuer.as_str()) => {
            known.iter().map(|known| (*known).to_owned()).collect()
        }
        _ => vec![issuer],
    }
}

async fn read_api(
    context: &RequestContext,
    provider: &Provider,
    config: &ProviderConfig,
    api: &Api,
    access_token: &str,
) -> Result<Profile, ProfileError> {
    let http = provider.http(context);
    let base = api_base(api, config);
    let get = async |path: &str| {
        let mut request = http
            .get(&format!("{base}{path}"))?
            .bearer_auth(access_token);
        request = match &api.extra {
            Extra::Nothing => request,
            Extra::Header(name, value) => request.header(*name, *value),
            Extra::ClientId(name) => request.header(*name, &provider.client_id),
            Extra::SecretProof => {
                let proof = secret_proof(provider.secret.expose(), access_token);
                request.query(&[("appsecret_proof", proof)])
            }
        };
        http.json(request).await
    };
    let mut response = get(api.path).await?;
    if let (Some(path), Value::Object(members)) = (api.emails_path, &mut response) {
        members.insert("emails".to_owned(), get(path).await?);
    }
    Ok(Profile::read(&api.mapping, &response, &base)?)
}

fn secret_proof(secret: &str, access_token: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    HEXLOWER.encode(hmac::sign(&key, access_token.as_bytes()).as_ref())
}

async fn read_custom(
    context: &RequestContext,
    row: &CustomProvider,
    document: Option<&Document>,
    tokens: &Tokens,
) -> Result<Profile, ProfileError> {
    let http = HttpClient::public_only(context);
    if let (Some(document), Some(id_token)) = (document, &tokens.id_token) {
        let expected = Expected {
            issuers: &row.issuer.iter().cloned().collect::<Vec<_>>(),
            audiences: &row.audiences(),
            access_token: Some(&tokens.access_token),
        };
        let claims = oidc::verify(context, &http, document, id_token, &expected).await?;
        return Ok(row.profile(claims)?);
    }
    let endpoint = match document {
        Some(document) => document.userinfo_endpoint.as_str(),
        None => row.userinfo_url.as_deref().unwrap_or_default(),
    };
    let request = http.get(endpoint)?.bearer_auth(&tokens.access_token);
    match http.json(request).await? {
        Value::Object(claims) => Ok(row.profile(claims)?),
        _ => Err(MissingSubject.into()),
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64URL_NOPAD;

    use super::*;

    #[test]
    fn a_secret_proof_is_the_tokens_signature() {
        // RFC 4231, test case 2.
        assert_eq!(
            secret_proof("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn azure_tokens_are_those_of_the_tenant_or_of_microsoft() {
        let token = |issuer: &str| {
            let payload = serde_json::json!({ "iss": issuer }).to_string();
            format!("e30.{}.x", BASE64URL_NOPAD.encode(payload.as_bytes()))
        };
        let host = "https://login.microsoftonline.com";
        let (ours, theirs) = (format!("{host}/ours/v2.0"), format!("{host}/theirs/v2.0"));
        let issuer = |url: Option<&str>, of: &str| azure_issuer(url, &token(of)).ok();

        assert_eq!(issuer(None, &theirs).as_ref(), Some(&theirs));
        assert_eq!(issuer(None, "https://evil.test"), None);
        let tenant = format!("{host}/ours");
        assert_eq!(issuer(Some(&tenant), &ours).as_ref(), Some(&ours));
        assert_eq!(issuer(Some(&tenant), &theirs), None);
        let common = format!("{host}/common");
        assert_eq!(issuer(Some(&common), &theirs).as_ref(), Some(&theirs));
        assert_eq!(issuer(Some(&common), "https://evil.test"), None);
        let customers = "https://acme.ciamlogin.com/t";
        assert_eq!(
            issuer(Some(customers), "https://acme.ciamlogin.com/t/v2.0").as_deref(),
            Some("https://acme.ciamlogin.com/t/v2.0")
        );
        assert_eq!(issuer(Some(customers), &theirs), None);
    }
}
