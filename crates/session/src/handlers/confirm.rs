//! `/auth/confirm`: a mailed link. GET shows a button, POST verifies the link (A4).

use axum::Extension;
use axum::body::Bytes;
use axum::extract::Query;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use url::form_urlencoded;

use super::{Failure, redirect_to_next, store_session};
use crate::html::escape_html;
use crate::request_context::RequestContext;
use crate::writer::SessionWriter;

/// Parameters of a mailed link, passed on by the form.
#[derive(Default, Deserialize)]
pub(super) struct Link {
    #[serde(default)]
    token_hash: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    next: Option<String>,
}

const KINDS: [&str; 6] = [
    "signup",
    "invite",
    "magiclink",
    "recovery",
    "email_change",
    "email",
];
const MAX_FORM_BYTES: usize = 16 * 1024;

/// No scripts, no frames, no external resources.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

impl Link {
    fn from_form(body: &[u8]) -> Self {
        let mut link = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            match name.as_ref() {
                "token_hash" => link.token_hash = value.into_owned(),
                "type" => link.kind = value.into_owned(),
                "next" => link.next = Some(value.into_owned()),
                _ => {}
            }
        }
        link
    }

    fn check(&self) -> Result<(), Failure> {
        let is_complete = !self.token_hash.is_empty() && KINDS.contains(&self.kind.as_str());
        let incomplete = || Failure::new(StatusCode::BAD_REQUEST, "validation_failed");
        is_complete.then_some(()).ok_or_else(incomplete)
    }
}

/// `GET /auth/confirm`
pub(super) async fn show_page(
    Extension(context): Extension<RequestContext>,
    Query(link): Query<Link>,
) -> Response {
    if let Err(failure) = link.check() {
        return failure.into_response(context.config());
    }
    let mut response = Html(page(&link)).into_response();
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // Not `no-referrer`: the form would then be sent with origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// `POST /auth/confirm`
pub(super) async fn confirm(
    Extension(context): Extension<RequestContext>,
    writer: SessionWriter,
    body: Bytes,
) -> Response {
    if body.len() > MAX_FORM_BYTES {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    }
    let link = Link::from_form(&body);
    match use_up(&context, &writer, &link).await {
        Ok(()) => redirect_to_next(link.next.as_deref(), context.config()),
        Err(failure) => failure.into_response(context.config()),
    }
}

async fn use_up(
    context: &RequestContext,
    writer: &SessionWriter,
    link: &Link,
) -> Result<(), Failure> {
    link.check()?;
    let backend = &context.config().backend;
    let session = backend
        .verify_token_hash(&link.kind, &link.token_hash)
        .await?;
    // The first of two mailboxes that confirm an e-mail change does not sign in.
    match session {
        Some(session) => store_session(writer, &session).await,
        None => Ok(()),
    }
}

fn page(link: &Link) -> String {
    let field = |name: &str, value: &str| {
        format!(
            r#"<input type="hidden" name="{name}" value="{}">"#,
            escape_html(value)
        )
    };
    let next = link
        .next
        .as_deref()
        .map(|next| field("next", next))
        .unwrap_or_default();
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Confirm</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
main {{ max-width: 24rem; margin: 15vh auto; padding: 0 1rem; text-align: center; }}
button {{ font: inherit; padding: .6rem 1.6rem; min-height: 2.75rem; cursor: pointer; }}
</style>
</head>
<body>
<main>
<h1>One more step</h1>
<p>Press the button to confirm that it is you.</p>
<form method="post" action="confirm">
{}{}{next}
<button type="submit">Continue</button>
</form>
</main>
</body>
</html>
"#,
        field("token_hash", &link.token_hash),
        field("type", &link.kind),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_carries_cannot_become_markup() {
        let link = Link {
            token_hash: "\"><script>".to_owned(),
            kind: "signup".to_owned(),
            next: Some("/a'b&c".to_owned()),
        };

        let page = page(&link);

        assert!(page.contains(r#"value="&quot;&gt;&lt;script&gt;""#));
        assert!(page.contains(r#"value="/a&#39;b&amp;c""#));
        assert!(!page.contains("<script>"));
    }

    #[test]
    fn a_form_is_read_whatever_else_it_has() {
        let link = Link::from_form(b"type=email&x=1&token_hash=a%2Bb&next=%2Fme");
        assert_eq!(
            (link.kind.as_str(), link.token_hash.as_str()),
            ("email", "a+b")
        );
        assert_eq!(link.next.as_deref(), Some("/me"));
        assert!(link.check().is_ok());
        assert!(Link::from_form(b"type=sms&token_hash=a").check().is_err());
        assert!(Link::from_form(b"\xff\xfe%").check().is_err());
    }
}
