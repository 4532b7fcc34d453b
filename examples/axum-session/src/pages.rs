//! The pages as HTML text.

use axum::response::{Html, IntoResponse, Response};
use plinth_session::{Session, escape_html};

use crate::Settings;

/// Allowed form targets: the content security policy must list OAuth providers.
const PROVIDERS: &str = "https://github.com";

/// The content security policy: scripts from here and the CDN, connections to the project only.
fn policy(settings: &Settings) -> String {
    let project = settings.project_origin();
    format!(
        "default-src 'none'; script-src 'self' https://esm.sh; style-src 'self'; \
         connect-src {project}; form-action 'self' {project} {PROVIDERS}; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

/// `GET /style.css`
pub(crate) async fn style() -> impl IntoResponse {
    let style = include_str!("../assets/style.css");
    ([("content-type", "text/css; charset=utf-8")], style)
}

/// `GET /browser.js`
pub(crate) async fn script() -> impl IntoResponse {
    let script = include_str!("../assets/browser.js");
    ([("content-type", "text/javascript; charset=utf-8")], script)
}

/// The first page: the user as seen by the server and by the browser.
pub(crate) fn home(session: Option<&Session>, settings: &Settings) -> Response {
    let here = match session {
        Some(session) => format!(
            r#"<p>The server knows you as <b id="server">{}</b>.</p>
<p><a href="/private">Your private page</a></p>
<form method="post" action="/auth/sign-out"><button>Sign out on the server</button></form>"#,
            escape_html(
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
        settings,
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
pub(crate) fn private(session: &Session, settings: &Settings) -> Response {
    // The cookie's user is for display only.
    let user = session.unverified_user();
    let bio = user
        .as_ref()
        .and_then(|user| user.user_metadata()?.get("bio")?.as_str());
    page(
        settings,
        "Private",
        &format!(
            r#"<p>Only <b id="user">{}</b> can see this.</p>
<form method="post" action="/profile">
<p><label>About you <input name="bio" value="{}"></label></p>
<button>Save</button>
</form>
<p><a href="/">Home</a></p>"#,
            session.user_id(),
            escape_html(bio.unwrap_or_default()),
        ),
    )
}

/// The sign-in page, with the last error.
pub(crate) fn sign_in(settings: &Settings, next: &str, problem: Option<&str>) -> Response {
    let problem = match problem {
        Some(problem) => format!(r#"<p role="alert">{}</p>"#, escape_html(problem)),
        None => String::new(),
    };
    let next = escape_html(next);
    page(
        settings,
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

fn page(settings: &Settings, title: &str, body: &str) -> Response {
    let html = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="/style.css">
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
    let headers = [
        ("content-security-policy", policy(settings)),
        ("referrer-policy", "same-origin".to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
    ];
    (headers, Html(html)).into_response()
}
