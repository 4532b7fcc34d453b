//! The one page of the web application, with a project's settings written into it.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use plinth_project::{Project, ProjectKind, PublicUrl, account_pages_url};
use plinth_session::escape_html;
use serde::Serialize;
use url::Url;

use super::config::{AccountConfig, Shown};

/// The element of the built page that takes the settings.
const SETTINGS: &str = r#"<script type="application/json" id="plinth-account">"#;
/// The built page names its files relative to itself.
const FILES: &str = "\"./assets/";

/// Who a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    /// Leads to the account.
    Root,
    /// Everybody: sign-in, links of mails, farewells.
    Open,
    /// Those who are signed in, all but their second step.
    SecondStep,
    /// Those who are signed in.
    User,
}

impl PageKind {
    /// By its path below the pages' own; `None` for what is no page.
    pub(super) fn of(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let first = path.split('/').next().unwrap_or_default();
        match first {
            "" if path.is_empty() => Some(Self::Root),
            "account" => Some(Self::User),
            "sign-in" if path == "sign-in/mfa" => Some(Self::SecondStep),
            "sign-in" | "sign-up" | "forgot-password" => Some(Self::Open),
            "confirm" | "callback" | "reset-password" | "signed-out" | "goodbye" => {
                (path == first).then_some(Self::Open)
            }
            _ => None,
        }
    }
}

/// Where the pages of a project are.
#[derive(Clone)]
pub(super) struct Site {
    /// Base of the project's services.
    pub(super) project_url: String,
    /// Path of the pages, without a slash at its end.
    pub(super) mount: String,
    /// Name of the session's cookies.
    pub(super) storage_key: String,
}

impl Site {
    pub(super) fn new(
        project: &Project,
        config: &AccountConfig,
        public_url: Option<&PublicUrl>,
    ) -> Self {
        let public_url = public_url.cloned().unwrap_or_else(|| PublicUrl::new(""));
        let pages = account_pages_url(project.kind(), &public_url, &config.path);
        let reference = project.reference().as_str();
        let project_url = public_url.as_str().to_owned();
        let base = path_of(&project_url);
        Self {
            mount: path_of(&pages),
            storage_key: storage_key(project.kind(), reference, &project_url, &base),
            project_url,
        }
    }
}

/// The path of a URL, without a slash at its end.
fn path_of(url: &str) -> String {
    let url = Url::parse(url).ok();
    let path = url.as_ref().map_or("", |url| url.path());
    path.trim_end_matches('/').to_owned()
}

/// The name that the published client would choose, except where projects share a host and their
/// sessions would take each other's place (client contract U1, S6).
fn storage_key(kind: ProjectKind, reference: &str, project_url: &str, base: &str) -> String {
    let mut segments = base.rsplit('/');
    let is_by_path = segments.next().is_some() && segments.next() == Some("p");
    match kind {
        ProjectKind::Platform => "sb-platform-auth-token".to_owned(),
        _ if is_by_path => format!("sb-{reference}-auth-token"),
        _ => plinth_client::storage_key(project_url).unwrap_or_default(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings<'a> {
    mount: &'a str,
    project_url: &'a str,
    key: &'a str,
    storage_key: &'a str,
    title: &'a str,
    logo: Option<&'a str>,
    #[serde(flatten)]
    shown: &'a Shown,
}

pub(super) fn render(template: &str, config: &AccountConfig, site: &Site, key: &str) -> Response {
    let settings = Settings {
        mount: &site.mount,
        project_url: &site.project_url,
        key,
        storage_key: &site.storage_key,
        title: &config.title,
        logo: config.logo.as_deref(),
        shown: &config.shown,
    };
    let json = serde_json::to_string(&settings).unwrap_or_default();
    // Nothing in the settings may end the element they stand in.
    let json = json.replace('<', "\\u003c");
    let page = template
        .replace(FILES, &format!("\"{}/_account/assets/", site.mount))
        .replace(
            "<title>Account</title>",
            &format!("<title>{}</title>", escape_html(&config.title)),
        )
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
        (header::VARY, HeaderValue::from_static("Cookie")),
    ]
}

/// Where the providers of captchas have their scripts, frames and styles.
fn captcha_hosts(config: &AccountConfig) -> &'static str {
    let captcha = config.shown.captcha.as_ref();
    match captcha.map(|captcha| captcha.provider.as_str()) {
        Some("hcaptcha") => " https://hcaptcha.com https://*.hcaptcha.com",
        Some("turnstile") => " https://challenges.cloudflare.com",
        _ => "",
    }
}

/// No inline script or style, no frames, nothing from elsewhere but the operator's logo and captcha.
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

/// The answer of a program that was built without the pages.
pub(super) fn not_built() -> Response {
    const PAGE: &str = "<!doctype html><html lang=\"en\"><title>Not built</title>\
        <h1>This Plinth was built without its web pages</h1>\
        <p>Run <code>npm ci</code> and <code>npm run build</code> in <code>web/</code>, then build \
        Plinth again; <code>cargo xtask up</code> does all of it.</p></html>";
    let policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
    (StatusCode::SERVICE_UNAVAILABLE, headers(policy), Html(PAGE)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use plinth_project::FromSettings;
    use plinth_settings::Loader;

    use super::*;

    const TEMPLATE: &str = "<title>Account</title>\
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
        }
    }

    #[tokio::test]
    async fn settings_stand_in_the_page_and_cannot_leave_their_element() {
        let config = config("[plinth.account]\ntitle = '</script><b>'\naccent = '#123456'");

        let response = render(TEMPLATE, &config, &site(), "sb_publishable_1");

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
        assert_eq!(settings["title"], "</script><b>");
        assert_eq!(settings["mount"], "/p/x/login");
        assert_eq!(settings["key"], "sb_publishable_1");
        assert_eq!(settings["accent"], "#123456");
        assert_eq!(settings["password"]["minLength"], 6);
        assert_eq!(settings["selfDelete"], true);
    }

    #[test]
    fn pages_may_run_no_script_but_their_own() {
        let config = config("[plinth.account]\nlogo = 'https://cdn.test/logo.svg'");

        let response = render(TEMPLATE, &config, &site(), "k");

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

    #[test]
    fn sessions_of_projects_on_one_host_keep_apart() {
        let check = |kind, base, host, expected: &str| {
            let url = format!("http://{host}:54321{base}");
            assert_eq!(storage_key(kind, "abc", &url, base), expected, "{url}");
        };
        check(
            ProjectKind::Default,
            "",
            "localhost",
            "sb-localhost-auth-token",
        );
        check(ProjectKind::Default, "", "127.0.0.1", "sb-127-auth-token");
        check(
            ProjectKind::Default,
            "/base",
            "api.example.com",
            "sb-api-auth-token",
        );
        check(
            ProjectKind::Ordinary,
            "/p/abc",
            "localhost",
            "sb-abc-auth-token",
        );
        check(
            ProjectKind::Default,
            "/p/default",
            "localhost",
            "sb-abc-auth-token",
        );
        check(
            ProjectKind::Platform,
            "/p/platform",
            "localhost",
            "sb-platform-auth-token",
        );
        check(
            ProjectKind::Platform,
            "",
            "ops.example.com",
            "sb-platform-auth-token",
        );
    }

    #[test]
    fn every_page_is_known() {
        let check = |path, expected| assert_eq!(PageKind::of(path), expected, "{path}");
        check("", Some(PageKind::Root));
        check("/", Some(PageKind::Root));
        check("/confirm", Some(PageKind::Open));
        check("/confirm/x", None);
        check("/sign-up/check-email", Some(PageKind::Open));
        check("/sign-in/mfa", Some(PageKind::SecondStep));
        check("/account", Some(PageKind::User));
        check("/account/identities", Some(PageKind::User));
        check("/accounts", None);
        check("//account", None);
    }
}
