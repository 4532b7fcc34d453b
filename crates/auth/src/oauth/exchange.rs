//! Exchanges a code for tokens at the provider's token endpoint.

use data_encoding::BASE64;
use serde_json::Value;
use url::form_urlencoded::{byte_serialize, parse};

use super::{
    http_client::{HttpClient, HttpError, HttpResponse},
    provider::Provider,
    providers::spec::ClientAuth,
};
use crate::{model::Object, request::RequestContext};

/// The tokens of a provider.
pub(super) struct Tokens {
    pub(super) access_token: String,
    /// Empty where there is none.
    pub(super) refresh_token: String,
    pub(super) id_token: Option<String>,
    /// The whole response.
    pub(super) response: Value,
}

/// Exchanges `code`; `verifier` is the PKCE code verifier.
pub(super) async fn exchange_code(
    context: &RequestContext,
    provider: &Provider,
    code: &str,
    verifier: Option<&str>,
) -> Result<Tokens, HttpError> {
    let http = provider.http(context);
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &provider.redirect_uri),
    ];
    form.extend(verifier.map(|verifier| ("code_verifier", verifier)));
    match provider.client_auth {
        ClientAuth::Header => send_with_header(&http, provider, &form)
            .await
            .and_then(read_tokens),
        ClientAuth::Body => send_with_body(&http, provider, form)
            .await
            .and_then(read_tokens),
        ClientAuth::Either => match send_with_header(&http, provider, &form)
            .await
            .and_then(read_tokens)
        {
            // A provider that rejects the header has not consumed the code.
            Err(HttpError::Status(..) | HttpError::Unexpected(_)) => {
                send_with_body(&http, provider, form)
                    .await
                    .and_then(read_tokens)
            }
            done => done,
        },
    }
}

async fn send_with_header(
    http: &HttpClient<'_>,
    provider: &Provider,
    form: &[(&str, &str)],
) -> Result<HttpResponse, HttpError> {
    // Client id and secret are form-encoded first (RFC 6749 §2.3.1).
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!(
        "{}:{}",
        encode(&provider.client_id),
        encode(provider.secret.expose())
    );
    let header = format!("Basic {}", BASE64.encode(pair.as_bytes()));
    let request = http.post(&provider.token_url)?.form(form);
    http.send(request.header(http::header::AUTHORIZATION, header))
        .await
}

async fn send_with_body(
    http: &HttpClient<'_>,
    provider: &Provider,
    mut form: Vec<(&str, &str)>,
) -> Result<HttpResponse, HttpError> {
    form.push(("client_id", &provider.client_id));
    form.push(("client_secret", provider.secret.expose()));
    http.send(http.post(&provider.token_url)?.form(&form)).await
}

fn read_tokens(response: HttpResponse) -> Result<Tokens, HttpError> {
    let response = response.success()?;
    let fields = response
        .json()
        .or_else(|error| match parse_form(&response.body) {
            Some(fields) => Ok(fields),
            None => Err(error),
        })?;
    let text = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(access_token) = text("access_token") else {
        let reason = text("error").unwrap_or_default();
        let text = format!("there is no access token: {reason}");
        return Err(HttpError::Unexpected(text));
    };
    Ok(Tokens {
        access_token,
        refresh_token: text("refresh_token").unwrap_or_default(),
        id_token: text("id_token"),
        response: fields,
    })
}

/// Some providers send forms although JSON was requested.
fn parse_form(body: &[u8]) -> Option<Value> {
    let fields: Object = parse(body)
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect();
    fields
        .contains_key("access_token")
        .then_some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> HttpResponse {
        HttpResponse {
            status: status.try_into().expect("a status"),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn tokens_are_read_from_json_and_from_forms() {
        let json = r#"{"access_token":"a","refresh_token":"r","id_token":"i","token_type":"x"}"#;
        let Ok(tokens) = read_tokens(response(200, json)) else {
            panic!("there are tokens");
        };
        assert_eq!(tokens.access_token, "a");
        assert_eq!(tokens.refresh_token, "r");
        assert_eq!(tokens.id_token.as_deref(), Some("i"));

        let form = "access_token=a%2Bb&scope=x&token_type=bearer";
        let Ok(tokens) = read_tokens(response(200, form)) else {
            panic!("there are tokens");
        };
        assert_eq!(tokens.access_token, "a+b");
        assert_eq!(tokens.refresh_token, "");
        assert_eq!(tokens.id_token, None);
    }

    #[test]
    fn everything_else_is_a_failure() {
        for (status, body) in [
            (200, ""),
            (200, "{}"),
            (200, "[]"),
            (200, r#"{"access_token":""}"#),
            (200, r#"{"access_token":7}"#),
            (200, r#"{"error":"bad_verification_code"}"#),
            (200, "error=bad_verification_code"),
            (400, r#"{"access_token":"a"}"#),
            (302, r#"{"access_token":"a"}"#),
        ] {
            assert!(
                read_tokens(response(status, body)).is_err(),
                "{status} {body}"
            );
        }
    }
}
