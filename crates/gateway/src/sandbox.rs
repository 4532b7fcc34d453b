//! Pages that users wrote run on the host of our own pages, whose session cookies scripts can
//! read. They are therefore shown in a sandbox: visible, but never in our origin (design §7).

use axum::response::Response;
use http::{
    HeaderValue,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};

const POLICY: HeaderValue =
    HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups");

/// Adds the policy to a document that can run scripts, beside any that it has.
pub(crate) fn apply(response: &mut Response) {
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    if content_type.is_some_and(can_run_scripts) {
        response
            .headers_mut()
            .append(CONTENT_SECURITY_POLICY, POLICY);
    }
}

fn can_run_scripts(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    matches!(
        essence.as_str(),
        "text/html" | "text/xml" | "application/xml" | "text/xsl"
    ) || essence.ends_with("+xml")
}

#[cfg(test)]
mod tests {
    use axum::response::{Html, IntoResponse};

    use super::*;

    #[test]
    fn documents_with_scripts_are_sandboxed_beside_their_own_policy() {
        let own = [(CONTENT_SECURITY_POLICY, "default-src 'self'")];
        let mut response = (own, Html("<p>hi</p>")).into_response();

        apply(&mut response);

        let policies: Vec<_> = response
            .headers()
            .get_all(CONTENT_SECURITY_POLICY)
            .iter()
            .collect();
        assert_eq!(
            policies,
            [HeaderValue::from_static("default-src 'self'"), POLICY]
        );
    }

    #[test]
    fn other_answers_are_left_alone() {
        for (content_type, expected) in [
            ("application/json", false),
            ("image/svg+xml", true),
            ("TEXT/HTML; charset=x", true),
        ] {
            let mut response = ([(CONTENT_TYPE, content_type)], "").into_response();
            apply(&mut response);
            let has_policy = response.headers().contains_key(CONTENT_SECURITY_POLICY);
            assert_eq!(has_policy, expected, "{content_type}");
        }
    }
}
