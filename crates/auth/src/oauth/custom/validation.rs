//! Validation of custom providers (auth contract §2.15).

use serde_json::Value;
use url::Url;

use super::PREFIX;
use crate::{
    AuthError,
    model::{
        Object,
        custom_providers::{CustomProvider, Protocol},
    },
    oauth::{authorize::RESERVED_PARAMS, ssrf},
    request::RequestContext,
};

const MAX_NAME_CHARS: usize = 100;
const MAX_CLIENT_ID_CHARS: usize = 512;
const MAX_URL_CHARS: usize = 2048;
const MAX_IDENTIFIER_BYTES: usize = 50;

/// Fields that attribute mappings cannot set.
const PROTECTED_FIELDS: [&str; 13] = [
    "id",
    "aud",
    "role",
    "app_metadata",
    "created_at",
    "updated_at",
    "confirmed_at",
    "email_confirmed_at",
    "phone_confirmed_at",
    "email_verified",
    "phone_verified",
    "banned_until",
    "is_super_admin",
];

/// Checks the prefix of an identifier in a path.
pub(super) fn check_prefix(identifier: &str) -> Result<(), AuthError> {
    if identifier.starts_with(PREFIX) {
        Ok(())
    } else {
        Err(AuthError::validation_failed(format!(
            "identifier must start with 'custom:' prefix, e.g. 'custom:{identifier}'"
        )))
    }
}

/// All checks that need no network.
pub(super) fn check(provider: &CustomProvider) -> Result<(), AuthError> {
    check_identifier(&provider.identifier)?;
    check_length("name", &provider.name, MAX_NAME_CHARS)?;
    check_length("client_id", &provider.client_id, MAX_CLIENT_ID_CHARS)?;
    if provider.client_secret.is_empty() {
        return Err(AuthError::field_required("client_secret"));
    }
    for (name, value) in required_urls(provider) {
        if value.is_none_or(str::is_empty) {
            let kind = match provider.protocol {
                Protocol::OpenId => "OIDC",
                Protocol::OAuth2 => "OAuth2",
            };
            return Err(AuthError::validation_failed(format!(
                "{name} is required for {kind} providers"
            )));
        }
    }
    check_authorization_params(&provider.authorization_params)?;
    check_mapping(&provider.attribute_mapping)?;
    check_allowlist(&provider.custom_claims_allowlist)
}

fn check_allowlist(names: &[String]) -> Result<(), AuthError> {
    if names.iter().any(|name| name.trim().is_empty()) {
        Err(AuthError::validation_failed(
            "custom_claims_allowlist entries must be non-empty strings",
        ))
    } else {
        Ok(())
    }
}

/// PostgreSQL stores no text with a NUL character.
fn contains_nul(object: &Object) -> bool {
    let text = Value::Object(object.clone()).to_string();
    text.contains("\\u0000")
}

fn check_identifier(identifier: &str) -> Result<(), AuthError> {
    if identifier.is_empty() {
        return Err(AuthError::field_required("identifier"));
    }
    check_prefix(identifier)?;
    let is_inner = |byte: u8| is_edge(byte) || byte == b':' || byte == b'-';
    let bytes = identifier.as_bytes();
    let is_good = bytes.len() <= MAX_IDENTIFIER_BYTES
        && bytes.iter().copied().all(is_inner)
        && bytes.last().copied().is_some_and(is_edge);
    if is_good {
        Ok(())
    } else {
        Err(AuthError::validation_failed(
            "identifier must be at most 50 lower-case letters, digits, colons and hyphens, and \
             end with a letter or a digit",
        ))
    }
}

fn is_edge(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn check_length(name: &str, text: &str, max_chars: usize) -> Result<(), AuthError> {
    match text.chars().count() {
        0 => Err(AuthError::field_required(name)),
        length if length > max_chars => Err(AuthError::validation_failed(format!(
            "{name} must have at most {max_chars} characters"
        ))),
        _ => Ok(()),
    }
}

fn required_urls(provider: &CustomProvider) -> Vec<(&'static str, Option<&str>)> {
    match provider.protocol {
        Protocol::OpenId => vec![("issuer", provider.issuer.as_deref())],
        Protocol::OAuth2 => vec![
            ("authorization_url", provider.authorization_url.as_deref()),
            ("token_url", provider.token_url.as_deref()),
            ("userinfo_url", provider.userinfo_url.as_deref()),
        ],
    }
}

fn check_authorization_params(params: &Object) -> Result<(), AuthError> {
    for (name, value) in params {
        let lower = name.to_ascii_lowercase();
        if lower == "nonce" || RESERVED_PARAMS.contains(&lower.as_str()) {
            return Err(AuthError::validation_failed(format!(
                "Cannot override reserved OAuth parameter: {name}"
            )));
        }
        if !value.is_string() {
            return Err(AuthError::validation_failed(format!(
                "Authorization parameter {name:?} must be a string"
            )));
        }
    }
    Ok(())
}

fn check_mapping(mapping: &Object) -> Result<(), AuthError> {
    match mapping
        .keys()
        .find(|name| PROTECTED_FIELDS.contains(&name.as_str()))
    {
        None => Ok(()),
        Some(name) => Err(AuthError::validation_failed(format!(
            "Cannot map to protected system field: {name}"
        ))),
    }
}

/// Checks that all URLs use https and have public addresses.
pub(super) async fn check_urls(
    context: &RequestContext,
    provider: &CustomProvider,
) -> Result<(), AuthError> {
    let urls = match provider.protocol {
        Protocol::OpenId => vec![&provider.issuer, &provider.discovery_url],
        Protocol::OAuth2 => vec![
            &provider.authorization_url,
            &provider.token_url,
            &provider.userinfo_url,
            &provider.jwks_uri,
        ],
    };
    for url in urls.into_iter().flatten().filter(|url| !url.is_empty()) {
        check_url(context, url).await?;
    }
    Ok(())
}

async fn check_url(context: &RequestContext, text: &str) -> Result<(), AuthError> {
    let url = parse_url(text)?;
    if context.config.custom_providers.allows_local_urls {
        return Ok(());
    }
    if ssrf::is_public_host(&url) && ssrf::resolves_to_public(&url).await {
        Ok(())
    } else {
        Err(AuthError::validation_failed(
            "URL must lead to a public address, not to this machine or a private network",
        ))
    }
}

fn parse_url(text: &str) -> Result<Url, AuthError> {
    if text.chars().count() > MAX_URL_CHARS {
        return Err(AuthError::validation_failed("URL is too long"));
    }
    let url = Url::parse(text).map_err(|_| AuthError::validation_failed("Invalid URL format"))?;
    // The table's constraint requires lower case.
    if url.scheme() == "https" && text.starts_with("https://") {
        Ok(url)
    } else {
        Err(AuthError::validation_failed("URL must use HTTPS"))
    }
}

/// The stored fields of a discovery document, if it has what a sign-in needs.
pub(super) fn check_document(document: &Value, issuer: &str) -> Result<Value, AuthError> {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or("");
    let needed = [
        "issuer",
        "authorization_endpoint",
        "token_endpoint",
        "jwks_uri",
    ];
    let missing: Vec<&str> = needed
        .into_iter()
        .filter(|name| text(name).is_empty())
        .collect();
    if !missing.is_empty() {
        return Err(AuthError::validation_failed(format!(
            "OIDC discovery document is missing required fields: {}",
            missing.join(", ")
        )));
    }
    if text("issuer") != issuer {
        return Err(AuthError::validation_failed(format!(
            "OIDC discovery document names the issuer {:?} instead of {issuer:?}",
            text("issuer")
        )));
    }
    for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        parse_url(text(name))?;
    }
    let stored = [
        "userinfo_endpoint",
        "scopes_supported",
        "response_types_supported",
        "grant_types_supported",
        "subject_types_supported",
    ];
    let stored: Object = needed
        .into_iter()
        .chain(stored)
        .filter_map(|name| Some((name.to_owned(), document.get(name)?.clone())))
        .filter(|(_, value)| !value.is_null())
        .collect();
    if contains_nul(&stored) {
        Err(AuthError::validation_failed(
            "OIDC discovery document cannot be kept",
        ))
    } else {
        Ok(Value::Object(stored))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identifiers_follow_the_tables_pattern() {
        for good in ["custom:a", "custom:my-idp", "custom:a:b", "custom:1"] {
            assert!(check_identifier(good).is_ok(), "{good}");
        }
        let long = format!("custom:{}", "a".repeat(44));
        for bad in [
            "",
            "my-idp",
            "custom:",
            "custom:A",
            "custom:a-",
            "custom:a_b",
            "Custom:a",
            &long,
        ] {
            assert!(check_identifier(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reserved_parameters_cannot_be_set_in_any_spelling() {
        let check = |params: Value| {
            let params = params.as_object().cloned().expect("an object");
            check_authorization_params(&params).is_ok()
        };
        assert!(check(json!({ "prompt": "login", "acr_values": "x" })));
        for name in [
            "state",
            "Redirect_URI",
            "nonce",
            "code_challenge",
            "client_secret",
        ] {
            assert!(!check(json!({ name: "x" })), "{name}");
        }
        assert!(!check(json!({ "max_age": 7 })));
    }

    #[test]
    fn documents_need_what_a_sign_in_needs() {
        let good = json!({
            "issuer": "https://idp.test",
            "authorization_endpoint": "https://idp.test/a",
            "token_endpoint": "https://idp.test/t",
            "jwks_uri": "https://idp.test/k",
            "scopes_supported": ["openid"],
            "something_else": 1,
        });
        let stored = check_document(&good, "https://idp.test").expect("a good document");
        assert_eq!(stored["scopes_supported"], json!(["openid"]));
        assert_eq!(stored.get("something_else"), None);

        assert!(check_document(&good, "https://other.test").is_err());
        for name in [
            "issuer",
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
        ] {
            let mut bad = good.clone();
            bad[name] = json!("");
            assert!(check_document(&bad, "https://idp.test").is_err(), "{name}");
        }
        let mut script = good.clone();
        script["authorization_endpoint"] = json!("javascript:alert(1)");
        assert!(check_document(&script, "https://idp.test").is_err());
    }
}
