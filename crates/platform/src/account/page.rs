//! The HTML page of the web application, with a project's settings written into it.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use plinth_project::{
    Project, PublicUrl, account_pages_url, other_project_paths, session_cookie_name,
    session_cookie_path, url_path,
};
use plinth_session::escape_html;
use serde::Serialize;
use url::Url;

use super::{
    application::CheckedNext,
    config::{AccountConfig, PageConfig},
    favicon::favicon,
    language,
};

/// The element of the built page that receives the settings.
const SETTINGS: &str = r#"<script type="application/json" id="plinth-account">"#;
/// The icon of the built page.
const NO_ICON: &str = "href=\"data:,\"";
/// The built page refers to its files by relative paths.
const FILES: &str = "\"./assets/";

/// Who may see a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    /// Redirects to the account.
    Root,
    /// All users: sign-in, links in mails, signed-out pages.
    Public,
    /// Users who have signed in with their first factor.
    SecondFactor,
    /// Signed-in users.
    SignedIn,
}

impl PageKind {
    /// By the path below the mount path; `None` if it is no page.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let first = path.split('/').next().unwrap_or_default();
        match first {
            "" if path.is_empty() => Some(Self::Root),
            "account" => Some(Self::SignedIn),
            "sign-in" if path == "sign-in/mfa" => Some(Self::SecondFactor),
            "sign-in" | "sign-up" | "forgot-password" => Some(Self::Public),
            "confirm" | "callback" | "reset-password" | "signed-out" | "goodbye" => {
                (path == first).then_some(Self::Public)
            }
            _ => None,
        }
    }
}

/// Addresses of a project's pages.
#[derive(Clone)]
pub(super) struct Site {
    /// Base of the project's services.
    pub(super) project_url: String,
    /// Path of the pages, without a slash at its end.
    pub(super) mount: String,
    /// Name of the session's cookies.
    pub(super) storage_key: String,
    /// Path of the session's cookies: the project's, where it shares its host with others.
    pub(super) cookie_path: String,
    /// Paths of the host that belong to other projects.
    other_projects: Vec<String>,
}

impl Site {
    pub(super) fn new(
        project: &Project,
        config: &AccountConfig,
        public_url: Option<&PublicUrl>,
    ) -> Self {
        let public_url = public_url.cloned().unwrap_or_else(|| PublicUrl::new(""));
        let pages = account_pages_url(project.kind(), &public_url, &config.path);
        let (kind, reference) = (project.kind(), project.reference());
        Self {
            mount: url_path(&pages),
            storage_key: session_cookie_name(kind, reference, &public_url),
            cookie_path: session_cookie_path(kind, &public_url),
            other_projects: other_project_paths(kind, &public_url),
            project_url: public_url.as_str().to_owned(),
        }
    }
}

/// What a page needs of the request for it.
#[derive(Clone)]
pub(super) struct PageRequest {
    pub(super) language: String,
    /// Where to go afterwards, at another origin.
    pub(super) next: Option<CheckedNext>,
    /// The application, for those who did not come from it.
    pub(super) application: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings<'a> {
    mount: &'a str,
    project_url: &'a str,
    key: &'a str,
    storage_key: &'a str,
    cookie_path: &'a str,
    other_projects: &'a [String],
    title: Option<&'a str>,
    logo: Option<&'a str>,
    next: Option<&'a CheckedNext>,
    application: Option<&'a str>,
    #[serde(flatten)]
    page: &'a PageConfig,
}

pub(super) fn render(
    template: &str,
    config: &AccountConfig,
    site: &Site,
    key: &str,
    request: &PageRequest,
) -> Response {
    let title = config.title.as_deref();
    let settings = Settings {
        mount: &site.mount,
        project_url: &site.project_url,
        key,
        storage_key: &site.storage_key,
        cookie_path: &site.cookie_path,
        other_projects: &site.other_projects,
        title,
        logo: config.logo.as_deref(),
        next: request.next.as_ref(),
        application: request.application.as_deref(),
        page: &config.page,
    };
    let json = serde_json::to_string(&settings).unwrap_or_default();
    // A setting must not close the script element.
    let json = json.replace('<', "\\u003c");
    let icon = favicon(title, config.page.accent.as_deref());
    let page = language::localise(template, &request.language)
        .replace(FILES, &format!("\"{}/_account/assets/", site.mount))
        .replace(
            "<title>Account</title>",
            &format!("<title>{}</title>", escape_html(title.unwrap_or("Account"))),
        )
        .replacen(NO_ICON, &format!("href=\"{icon}\""), 1)
        .replacen(SETTINGS, &format!("{SETTINGS}{json}"), 1);
    (headers(&policy(config, site)), Html(page)).into_response()
}

/// The headers of every page (client contract U6).
fn headers(policy: &str) -> [(HeaderName, HeaderValue); 5] {
    let policy =
        HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    [
        (header::CONTENT_SECURITY_POLICY, policy),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("strict-origin"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::VARY,
            HeaderValue::from_static("Cookie, Accept-Language"),
        ),
    ]
}

/// Hosts of the captcha provider's scripts, frames and styles.
fn captcha_hosts(config: &AccountConfig) -> &'static str {
    let captcha = config.page.captcha.as_ref();
    match captcha.map(|captcha| captcha.provider.as_str()) {
        Some("hcaptcha") => " https://hcaptcha.com https://*.hcaptcha.com",
        Some("turnstile") => " https://challenges.cloudflare.com",
        _ => "",
    }
}

/// No inline scripts or styles, no frames, no external content but the operator's logo and captcha.
fn policy(config: &AccountConfig, site: &Site) -> String {
    let origin = |text: &str| {
        Url::parse(text)
            .ok()
            .map(|url| url.origin().ascii_serialization())
    };
    let logo = config.logo.as_deref().and_then(origin).unwrap_or_default();
    let api = origin(&site.project_url).unwrap_or_default();
    let captcha = captcha_hosts(config);
    let frames = match captcha {
        "" => String::new(),
        hosts => format!("frame-src{hosts}; "),
    };
    format!(
        "default-src 'none'; script-src 'self'{captcha}; style-src 'self'{captcha}; \
         img-src 'self' data: {logo}; connect-src 'self' {api}{captcha}; {frames}\
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// The response of a binary that was built without the pages.
pub(super) fn not_built() -> Response {
    unavailable(
        "<!doctype html><html lang=\"en\"><title>Not built</title>\
        <h1>This Plinth was built without its web pages</h1>\
        <p>Run <code>npm ci</code> and <code>npm run build</code> in <code>web/</code>, then build \
        Plinth again; <code>cargo xtask up</code> does all of it.</p></html>",
    )
}

/// The response while the project has no publishable key, without which the pages can ask nothing.
pub(super) fn without_key() -> Response {
    unavailable(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width\"><title>Not available</title>\
        <h1>These pages are not available</h1>\
        <p>This project has no publishable API key, so nobody can sign in here. Its operator \
        creates one with <code>plinth keys create publishable default</code>.</p></html>",
    )
}

fn unavailable(page: &'static str) -> Response {
    let policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
    (StatusCode::SERVICE_UNAVAILABLE, headers(policy), Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use plinth_project::FromSettings;
    use plinth_settings::Loader;

    use super::*;

    const TEMPLATE: &str = "<html lang=\"en\"><title>Account</title>\
        <link rel=\"icon\" href=\"data:,\" />\
        <script type=\"application/json\" id=\"plinth-account\"></script>\
        <script type=\"module\" src=\"./assets/a.js\"></script>";

    fn config(text: &str) -> AccountConfig {
        let loaded = Loader::new().config_text("config.toml", text).load();
        AccountConfig::from_settings(&loaded.expect("valid").settings)
    }

    fn site() -> Site {
        Site {
            project_url: "https://api.test:8443/p/x".to_owned(),
            mount: "/p/x/login".to_owned(),
            storage_key: "sb-x-auth-token".to_owned(),
            cookie_path: "/p/x".to_owned(),
            other_projects: Vec::new(),
        }
    }

    fn page_request() -> PageRequest {
        PageRequest {
            language: "de".to_owned(),
            next: None,
            application: Some("https://app.test/".to_owned()),
        }
    }

    #[tokio::test]
    async fn settings_are_embedded_and_cannot_close_their_element() {
        let config = config("[plinth.account]\ntitle = '</script><b>'\naccent = '#123456'");

        let response = render(
            TEMPLATE,
            &config,
            &site(),
            "sb_publishable_1",
            &page_request(),
        );

        let body = to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("a body");
        let page = String::from_utf8(body.to_vec()).expect("text");
        assert!(
            page.contains("src=\"/p/x/login/_account/assets/a.js\""),
            "{page}"
        );
        assert!(
            page.contains("<title>&lt;/script&gt;&lt;b&gt;</title>"),
            "{page}"
        );
        let (_, rest) = page.split_once(SETTINGS).expect("the element");
        let (json, _) = rest.split_once("</script>").expect("its end");
        let settings: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert!(page.contains("<html lang=\"de\">"), "{page}");
        assert!(page.contains("href=\"data:image/svg+xml,"), "{page}");
        assert_eq!(settings["application"], "https://app.test/");
        assert_eq!(settings["next"], serde_json::Value::Null);
        assert_eq!(settings["title"], "</script><b>");
        assert_eq!(settings["mount"], "/p/x/login");
        assert_eq!(settings["key"], "sb_publishable_1");
        assert_eq!(settings["cookiePath"], "/p/x");
        assert_eq!(settings["accent"], "#123456");
        assert_eq!(settings["password"]["minLength"], 6);
        assert_eq!(settings["selfDelete"], true);
    }

    #[test]
    fn the_content_security_policy_allows_own_scripts_only() {
        let config = config("[plinth.account]\nlogo = 'https://cdn.test/logo.svg'");

        let response = render(TEMPLATE, &config, &site(), "k", &page_request());

        let header = |name: &str| {
            let value = response.headers().get(name).expect("the header");
            value.to_str().expect("text").to_owned()
        };
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; \
             img-src 'self' data: https://cdn.test; connect-src 'self' https://api.test:8443; \
             base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        );
        assert_eq!(header("referrer-policy"), "strict-origin");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
    }

    #[test]
    fn a_captcha_is_the_one_foreign_script() {
        let captcha = "[auth.captcha]\nenabled = true\nprovider = 'turnstile'\nsecret = 's'\n";
        let without_key = policy(&config(captcha), &site());
        let with_key = format!("{captcha}[plinth.account]\ncaptcha_key = 'k'");
        let with_key = policy(&config(&with_key), &site());

        assert!(!without_key.contains("cloudflare"), "{without_key}");
        for expected in [
            "script-src 'self' https://challenges.cloudflare.com;",
            "frame-src https://challenges.cloudflare.com;",
        ] {
            assert!(with_key.contains(expected), "{with_key}");
        }
    }

    /// Applications find the session of the pages by the published client's rule.
    #[test]
    fn the_default_name_is_the_published_clients() {
        for url in [
            "http://localhost:54321",
            "http://127.0.0.1:54321",
            "https://api.example.com/base",
            "http://[::1]:8000",
            "https://B\u{fc}cher.example",
        ] {
            let expected = plinth_client::storage_key(url).expect("a key");
            assert_eq!(plinth_project::host_cookie_name(url), Some(expected));
        }
    }

    #[test]
    fn every_page_is_recognised() {
        let check = |path, expected| assert_eq!(PageKind::from_path(path), expected, "{path}");
        check("", Some(PageKind::Root));
        check("/", Some(PageKind::Root));
        check("/confirm", Some(PageKind::Public));
        check("/confirm/x", None);
        check("/sign-up/check-email", Some(PageKind::Public));
        check("/sign-in/mfa", Some(PageKind::SecondFactor));
        check("/account", Some(PageKind::SignedIn));
        check("/account/identities", Some(PageKind::SignedIn));
        check("/accounts", None);
        check("//account", None);
    }
}
