//! A call to a provider: a form goes out, JSON comes back.

use plinth_token::Secret;
use serde_json::Value;

use crate::request::Context;

/// What a provider is asked.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) proof: Proof,
    pub(super) form: Vec<(&'static str, String)>,
}

/// How we show who we are.
#[derive(Debug)]
pub(super) enum Proof {
    /// User name and password.
    Basic(String, Secret),
    /// `Authorization: AccessKey …`
    AccessKey(Secret),
    /// It stands in the form.
    InForm,
}

/// What a provider answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Asks; the error is what went wrong on the way, without any secret in it.
pub(super) async fn send(context: &Context, request: Request) -> Result<Answer, String> {
    let call = context
        .service
        .http()
        .post(&request.url)
        .timeout(context.config.http_timeout)
        .form(&request.form);
    let call = match &request.proof {
        Proof::Basic(user, password) => call.basic_auth(user, Some(password.expose())),
        Proof::AccessKey(key) => {
            call.header("authorization", format!("AccessKey {}", key.expose()))
        }
        Proof::InForm => call,
    };
    let response = call
        .send()
        .await
        .map_err(|error| match error.is_timeout() {
            true => "the provider did not answer in time".to_owned(),
            false => "the provider cannot be reached".to_owned(),
        })?;
    let status = response.status().as_u16();
    let body = response.bytes().await;
    let body = body.map_err(|_| "the provider's answer broke off".to_owned())?;
    let body = serde_json::from_slice(&body)
        .map_err(|_| format!("the provider answered {status} and no JSON"))?;
    Ok(Answer { status, body })
}
