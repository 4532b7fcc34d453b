//! `GET /auth/callback`: completes a sign-in at a provider or through a mailed link (S53, A37).

use axum::Extension;
use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use serde::Deserialize;

use super::{Failure, redirect_to_next, store_session};
use crate::request_context::RequestContext;
use crate::writer::SessionWriter;

/// Query parameters added by providers and the auth service.
#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    code: Option<String>,
    error: Option<String>,
    error_code: Option<String>,
    sb_flow_id: Option<String>,
    next: Option<String>,
}

pub(super) async fn callback(
    method: Method,
    Extension(context): Extension<RequestContext>,
    writer: SessionWriter,
    Query(query): Query<CallbackQuery>,
) -> Response {
    // A HEAD would use the code up without showing anything.
    if method == Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match complete(&context, &writer, &query).await {
        Ok(()) => redirect_to_next(query.next.as_deref(), context.config()),
        Err(failure) => failure.into_response(context.config()),
    }
}

async fn complete(
    context: &RequestContext,
    writer: &SessionWriter,
    query: &CallbackQuery,
) -> Result<(), Failure> {
    let rejected = |code: &str| Failure::new(StatusCode::BAD_REQUEST, code);
    if let Some(error) = query.error_code.as_deref().or(query.error.as_deref()) {
        return Err(rejected(checked_code(error)));
    }
    let code = query.code.as_deref().filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| rejected("bad_oauth_callback"))?;
    let taken = writer.take_verifier(query.sb_flow_id.as_deref()).await?;
    let session = context
        .config()
        .backend
        .exchange_code(code, &taken.verifier)
        .await?;
    store_session(writer, &session).await
}

/// Only plain words are passed on: the text comes from the URL.
fn checked_code(error: &str) -> &str {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=64).contains(&error.len()) && error.bytes().all(is_word) {
        error
    } else {
        "unexpected_failure"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_are_shown() {
        assert_eq!(checked_code("access_denied"), "access_denied");
        for text in ["", "Call 555-1234", "<script>", &"a".repeat(65)] {
            assert_eq!(checked_code(text), "unexpected_failure");
        }
    }
}
