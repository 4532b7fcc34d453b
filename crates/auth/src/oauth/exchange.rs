//! A code for tokens, at the provider's token endpoint.

use data_encoding::BASE64;
use serde_json::Value;
use url::form_urlencoded::{byte_serialize, parse};

use super::{
    provider::Provider,
    providers::spec::ClientAuth,
    web::{Answer, Web, WebError},
};
use crate::{model::Object, request::Context};

/// What a provider gave.
pub(super) struct Tokens {
    pub(super) access_token: String,
    /// Empty where there is none.
    pub(super) refresh_token: String,
    pub(super) id_token: Option<String>,
    /// The whole answer.
    pub(super) answer: Value,
}

/// Exchanges `code`; `verifier` proves that it is ours.
pub(super) async fn exchange(
    context: &Context,
    provider: &Provider,
    code: &str,
    verifier: Option<&str>,
) -> Result<Tokens, WebError> {
    let web = provider.web(context);
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &provider.redirect_uri),
    ];
    form.extend(verifier.map(|verifier| ("code_verifier", verifier)));
    match provider.client_auth {
        ClientAuth::Header => by_header(&web, provider, &form).await.and_then(read),
        ClientAuth::Body => by_body(&web, provider, form).await.and_then(read),
        ClientAuth::Either => match by_header(&web, provider, &form).await.and_then(read) {
            // Who does not know the header cannot have taken the code.
            Err(WebError::Status(..) | WebError::Unexpected(_)) => {
                by_body(&web, provider, form).await.and_then(read)
            }
            done => done,
        },
    }
}

async fn by_header(
    web: &Web<'_>,
    provider: &Provider,
    form: &[(&str, &str)],
) -> Result<Answer, WebError> {
    // Both halves are form-encoded first (RFC 6749 §2.3.1).
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!(
        "{}:{}",
        encode(&provider.client_id),
        encode(provider.secret.expose())
    );
    let header = format!("Basic {}", BASE64.encode(pair.as_bytes()));
    let request = web.post(&provider.token_url)?.form(form);
    web.send(request.header(http::header::AUTHORIZATION, header))
        .await
}

async fn by_body(
    web: &Web<'_>,
    provider: &Provider,
    mut form: Vec<(&str, &str)>,
) -> Result<Answer, WebError> {
    form.push(("client_id", &provider.client_id));
    form.push(("client_secret", provider.secret.expose()));
    web.send(web.post(&provider.token_url)?.form(&form)).await
}

fn read(answer: Answer) -> Result<Tokens, WebError> {
    let answer = answer.success()?;
    let fields = answer.json().or_else(|error| match form_of(&answer.body) {
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
        return Err(WebError::Unexpected(text));
    };
    Ok(Tokens {
        access_token,
        refresh_token: text("refresh_token").unwrap_or_default(),
        id_token: text("id_token"),
        answer: fields,
    })
}

/// Some providers answer as forms whatever they are asked for.
fn form_of(body: &[u8]) -> Option<Value> {
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

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status: status.try_into().expect("a status"),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn tokens_are_read_from_json_and_from_forms() {
        let json = r#"{"access_token":"a","refresh_token":"r","id_token":"i","token_type":"x"}"#;
        let Ok(tokens) = read(answer(200, json)) else {
            panic!("there are tokens");
        };
        assert_eq!(tokens.access_token, "a");
        assert_eq!(tokens.refresh_token, "r");
        assert_eq!(tokens.id_token.as_deref(), Some("i"));

        let form = "access_token=a%2Bb&scope=x&token_type=bearer";
        let Ok(tokens) = read(answer(200, form)) else {
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
            assert!(read(answer(status, body)).is_err(), "{status} {body}");
        }
    }
}
