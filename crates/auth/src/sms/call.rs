//! HTTP calls to SMS providers: form in, JSON out.

use plinth_token::Secret;
use serde_json::Value;

use crate::request::RequestContext;

/// A request to a provider.
pub(super) struct Request {
    pub(super) url: String,
    pub(super) authentication: Authentication,
    pub(super) form: Vec<(&'static str, String)>,
}

/// How a request is authenticated.
pub(super) enum Authentication {
    /// User name and password.
    Basic(String, Secret),
    /// `Authorization: AccessKey …`
    AccessKey(Secret),
    /// Within the form.
    InForm,
}

/// A provider's response.
#[derive(Debug)]
pub(super) struct ProviderResponse {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl ProviderResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Sends the request; the error contains no secret.
pub(super) async fn send(
    context: &RequestContext,
    request: Request,
) -> Result<ProviderResponse, String> {
    let call = context
        .service
        .http()
        .post(&request.url)
        .timeout(context.config.http_timeout)
        .form(&request.form);
    let call = match &request.authentication {
        Authentication::Basic(user, password) => call.basic_auth(user, Some(password.expose())),
        Authentication::AccessKey(key) => {
            call.header("authorization", format!("AccessKey {}", key.expose()))
        }
        Authentication::InForm => call,
    };
    let response = call.send().await.map_err(|error| {
        if error.is_timeout() {
            "the provider did not respond in time".to_owned()
        } else {
            "the provider cannot be reached".to_owned()
        }
    })?;
    let status = response.status().as_u16();
    let body = response.bytes().await;
    let body = body.map_err(|_| "the provider's response ended early".to_owned())?;
    let body = serde_json::from_slice(&body)
        .map_err(|_| format!("the provider responded with {status} and no JSON"))?;
    Ok(ProviderResponse { status, body })
}
