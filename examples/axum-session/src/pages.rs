//! The pages, as text.

use axum::response::{Html, IntoResponse, Response};
use plinth_session::Session;

use crate::Settings;

/// Scripts come from here and from where the published client is; nothing else runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action *; \
    script-src 'self' https://esm.sh; connect-src *; base-uri 'none'; frame-ancestors 'none'";

/// `GET /browser.js`
pub(crate) async fn script() -> impl IntoResponse {
    let script = include_str!("../assets/browser.js");
    ([("content-type", "text/javascript; charset=utf-8")], script)
}

/// The first page: who is here, as the server sees it and as the browser sees it.
pub(crate) fn home(session: Option<&Session>, settings: &Settings) -> Response {
    let here = match session {
        Some(session) => format!(
            r#"<p>The server knows you as <b id="server">{}</b>.</p>
<p><a href="/private">Your private page</a></p>
<form method="post" action="/auth/sign-out"><button>Sign out on the server</button></form>"#,
            escaped(
                session
                    .claims()
                    .email()
                    .unwrap_or("somebody without an address")
            ),
        ),
        None => r#"<p id="server">The server does not know you.</p>
<p><a href="/sign-in">Sign in</a></p>"#
            .to_owned(),
    };
    let project = serde_json::json!({ "url": settings.project_url, "key": settings.key });
    // A `<` could end the element that the text is in.
    let project = project.to_string().replace('<', "\\u003c");
    page(
        "Home",
        &format!(
            r#"{here}
<hr>
<p id="browser">The browser has not looked yet.</p>
<p><button id="sign-out" hidden>Sign out in the browser</button></p>
<script type="application/json" id="project">{project}</script>
<script type="module" src="/browser.js"></script>"#
        ),
    )
}

/// The private page.
pub(crate) fn private(session: &Session) -> Response {
    // What the cookie says about the user is shown, and nothing is decided by it.
    let user = session.unverified_user();
    let bio = user
        .as_ref()
        .and_then(|user| user.user_metadata()?.get("bio")?.as_str());
    page(
        "Private",
        &format!(
            r#"<p>Only <b id="user">{}</b> can see this.</p>
<form method="post" action="/profile">
<p><label>About you <input name="bio" value="{}"></label></p>
<button>Save</button>
</form>
<p><a href="/">Home</a></p>"#,
            session.user_id(),
            escaped(bio.unwrap_or_default()),
        ),
    )
}

/// The sign-in page, and why it did not work the last time.
pub(crate) fn sign_in(next: &str, problem: Option<&str>) -> Response {
    let problem = match problem {
        Some(problem) => format!(r#"<p role="alert">{}</p>"#, escaped(problem)),
        None => String::new(),
    };
    let next = escaped(next);
    page(
        "Sign in",
        &format!(
            r#"{problem}
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="{next}">
<p><label>E-mail <input name="email" type="email" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<button>Sign in</button>
</form>
<form method="post" action="/sign-in/github"><button>Sign in with GitHub</button></form>"#
        ),
    )
}

fn page(title: &str, body: &str) -> Response {
    let html = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }}
main {{ max-width: 32rem; margin: 12vh auto; padding: 0 1rem; }}
input, button {{ font: inherit; padding: .4rem .8rem; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"#
    );
    ([("content-security-policy", POLICY)], Html(html)).into_response()
}

fn escaped(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
