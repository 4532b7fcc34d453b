//! OAuth 1.0a (RFC 5849), for Twitter.

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use serde_json::Value;
use url::form_urlencoded::parse;

use super::{
    http_client::{HttpClient, HttpError},
    profile_reader::ProfileError,
    provider::{Kind, Provider, api_base, base_url},
    providers::{MissingSubject, Profile, spec::ProfileSource},
};
use crate::request::RequestContext;

const DEFAULT_BASE: &str = "https://api.twitter.com";
const PROFILE_QUERY: [(&str, &str); 3] = [
    ("include_email", "true"),
    ("include_entities", "false"),
    ("skip_status", "true"),
];

/// A token with its secret: first the request token, then the access token.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) secret: String,
}

impl Token {
    /// The stored form, until the callback.
    pub(super) fn to_stored(&self) -> String {
        format!("{}\n{}", self.text, self.secret)
    }

    pub(super) fn from_stored(stored: &str) -> Option<Self> {
        let (text, secret) = stored.split_once('\n')?;
        Some(Self {
            text: text.to_owned(),
            secret: secret.to_owned(),
        })
    }

    fn read(body: &[u8]) -> Result<Self, HttpError> {
        let pairs: Vec<_> = parse(body).collect();
        let find = |name: &str| {
            let pair = pairs.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.to_string())
        };
        match (find("oauth_token"), find("oauth_token_secret")) {
            (Some(text), Some(secret)) if !text.is_empty() => Ok(Self { text, secret }),
            _ => Err(HttpError::Unexpected("there is no token".to_owned())),
        }
    }
}

/// Gets a request token for a sign-in that returns to `callback`.
pub(super) async fn request_token(
    context: &RequestContext,
    provider: &Provider,
    callback: &str,
) -> Result<Token, HttpError> {
    let url = format!("{}/oauth/request_token", base(provider));
    let header = Signer::new(provider, context, None).header(
        "POST",
        &url,
        &[("oauth_callback", callback)],
        &[],
    );
    post(&provider.http(context), &url, header).await
}

/// The provider's authorization URL.
pub(super) fn authenticate_url(provider: &Provider, request: &Token) -> String {
    let token = encode(&request.text);
    format!("{}?oauth_token={token}", provider.authorization_url)
}

/// Exchanges the request token for an access token.
pub(super) async fn access_token(
    context: &RequestContext,
    provider: &Provider,
    request: &Token,
    verifier: &str,
) -> Result<Token, HttpError> {
    let url = &provider.token_url;
    let header = Signer::new(provider, context, Some(request)).header(
        "POST",
        url,
        &[("oauth_verifier", verifier)],
        &[],
    );
    post(&provider.http(context), url, header).await
}

/// Reads the user's profile.
pub(super) async fn profile(
    context: &RequestContext,
    provider: &Provider,
    access: &Token,
) -> Result<Profile, ProfileError> {
    let Kind::BuiltIn { spec, config } = &provider.kind else {
        return Err(MissingSubject.into());
    };
    let ProfileSource::Api(api) = &spec.profile_source else {
        return Err(MissingSubject.into());
    };
    let base = api_base(api, config);
    let url = format!("{base}{}", api.path);
    let signer = Signer::new(provider, context, Some(access));
    let header = signer.header("GET", &url, &[], &PROFILE_QUERY);
    let http = provider.http(context);
    let request = http.get(&url)?.query(&PROFILE_QUERY);
    let request = request.header(http::header::AUTHORIZATION, header);
    let response: Value = http.json(request).await?;
    Ok(Profile::read(&api.mapping, &response, &base)?)
}

fn base(provider: &Provider) -> &str {
    match &provider.kind {
        Kind::BuiltIn { config, .. } => base_url(config).unwrap_or(DEFAULT_BASE),
        Kind::Custom { .. } => DEFAULT_BASE,
    }
}

async fn post(http: &HttpClient<'_>, url: &str, header: String) -> Result<Token, HttpError> {
    let request = http.post(url)?;
    let request = request.header(http::header::AUTHORIZATION, header);
    Token::read(&http.send(request).await?.success()?.body)
}

/// Signs requests with the consumer secret and the token's secret.
struct Signer<'a> {
    consumer_key: &'a str,
    consumer_secret: &'a str,
    token: Option<&'a Token>,
    nonce: String,
    timestamp: i64,
}

impl<'a> Signer<'a> {
    fn new(provider: &'a Provider, context: &RequestContext, token: Option<&'a Token>) -> Self {
        Self {
            consumer_key: &provider.client_id,
            consumer_secret: provider.secret.expose(),
            token,
            nonce: crate::random::url_text::<16>(),
            timestamp: context.now.unix_timestamp(),
        }
    }

    /// The `Authorization` header for a request with this query.
    fn header(
        &self,
        method: &str,
        url: &str,
        extra: &[(&str, &str)],
        query: &[(&str, &str)],
    ) -> String {
        let timestamp = self.timestamp.to_string();
        let mut oauth = vec![
            ("oauth_consumer_key", self.consumer_key),
            ("oauth_nonce", &self.nonce),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", &timestamp),
            ("oauth_version", "1.0"),
        ];
        oauth.extend(self.token.map(|token| ("oauth_token", token.text.as_str())));
        oauth.extend(extra);
        let signed: Vec<(&str, &str)> = oauth.iter().chain(query).copied().collect();
        let signature = self.signature(method, url, &signed);
        oauth.push(("oauth_signature", &signature));
        let fields: Vec<String> = oauth
            .iter()
            .map(|(name, value)| format!("{}=\"{}\"", encode(name), encode(value)))
            .collect();
        format!("OAuth {}", fields.join(", "))
    }

    fn signature(&self, method: &str, url: &str, params: &[(&str, &str)]) -> String {
        let mut pairs: Vec<(String, String)> = params
            .iter()
            .map(|(name, value)| (encode(name), encode(value)))
            .collect();
        pairs.sort();
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let text = [method, url, &pairs.join("&")].map(encode).join("&");
        let token_secret = self.token.map_or("", |token| token.secret.as_str());
        let key = format!("{}&{}", encode(self.consumer_secret), encode(token_secret));
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
        BASE64.encode(hmac::sign(&key, text.as_bytes()).as_ref())
    }
}

/// Percent-encoding as RFC 5849 §3.6 defines it.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_standard() {
        // RFC 5849, the example of section 1.2: photos for printer.example.com.
        let token = Token {
            text: "nnch734d00sl2jdk".to_owned(),
            secret: "pfkkdhi9sl3r4s00".to_owned(),
        };
        let signer = Signer {
            consumer_key: "dpf43f3p2l4k3l03",
            consumer_secret: "kd94hf93k423kf44",
            token: Some(&token),
            nonce: "chapoH".to_owned(),
            timestamp: 137_131_202,
        };
        let params = [
            ("file", "vacation.jpg"),
            ("size", "original"),
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_token", "nnch734d00sl2jdk"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131202"),
            ("oauth_nonce", "chapoH"),
        ];
        assert_eq!(
            signer.signature("GET", "http://photos.example.net/photos", &params),
            "MdpQcU8iPSUjWoN/UDMsK2sui9I="
        );
    }

    #[test]
    fn a_stored_token_is_restored() {
        let token = Token {
            text: "a".to_owned(),
            secret: "b c".to_owned(),
        };
        assert!(Token::from_stored(&token.to_stored()) == Some(token));
        assert!(Token::from_stored("no secret").is_none());
    }

    #[test]
    fn responses_without_a_token_are_failures() {
        assert!(Token::read(b"oauth_token=a&oauth_token_secret=b").is_ok());
        for body in [
            "",
            "oauth_token=&oauth_token_secret=b",
            "oauth_token=a",
            "{}",
        ] {
            assert!(Token::read(body.as_bytes()).is_err(), "{body}");
        }
    }
}
