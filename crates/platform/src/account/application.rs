//! The application that the pages lead back to (client contract A34).

use http::Uri;
use plinth_project::{AllowList, ProjectKind};
use plinth_settings::{Settings, Source, keys::auth};
use serde::Serialize;
use url::{Url, form_urlencoded};

/// As long as paths may be.
const MAX_CHARS: usize = 2048;

/// Where the application is.
#[derive(Debug, Clone)]
pub(super) struct Application {
    site_url: Url,
    /// Whether it was configured; the default is only an example.
    has_site: bool,
    redirects: AllowList,
}

/// A `next` that leads to another origin, which the script cannot check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct CheckedNext {
    /// As it stands in the query.
    asked: String,
    url: String,
}

impl Application {
    pub(super) fn from_settings(settings: &Settings) -> Self {
        Self {
            site_url: settings.get(auth::SITE_URL).url().clone(),
            has_site: settings.source_of(auth::SITE_URL) != Source::Default,
            redirects: AllowList::new(settings.get(auth::ADDITIONAL_REDIRECT_URLS)),
        }
    }

    /// The `next` of a request, if it leads to the site or to an origin on the allow list.
    pub(super) fn next(&self, kind: ProjectKind, page: &str, request: &Uri) -> Option<CheckedNext> {
        // Operators come from the console, which is at the same origin.
        if kind == ProjectKind::Platform {
            return None;
        }
        let asked = asked_next(request.query()?)?;
        if asked.chars().count() > MAX_CHARS {
            return None;
        }
        let url = self.redirects.resolve_origin(&asked, &self.site_url)?;
        // At its own origin, the script checks that the path belongs to this project.
        (!is_same_origin(&url, page)).then_some(CheckedNext { asked, url })
    }

    /// The way back for those who did not come from somewhere.
    pub(super) fn site(&self, kind: ProjectKind) -> Option<&str> {
        let is_web = matches!(self.site_url.scheme(), "http" | "https");
        let is_shown = self.has_site && is_web && kind != ProjectKind::Platform;
        is_shown.then_some(self.site_url.as_str())
    }
}

/// `next`, else `redirect_to`, each the first of its name.
fn asked_next(query: &str) -> Option<String> {
    let get = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
            .filter(|value| !value.is_empty())
    };
    get("next").or_else(|| get("redirect_to"))
}

fn is_same_origin(url: &str, page: &str) -> bool {
    match (Url::parse(url), Url::parse(page)) {
        (Ok(url), Ok(page)) => url.origin() == page.origin(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;

    const PAGE: &str = "https://auth.test/p/x";

    fn application(text: &str) -> Application {
        let loaded = Loader::new().config_text("config.toml", text).load();
        Application::from_settings(&loaded.expect("valid").settings)
    }

    fn configured() -> Application {
        application(
            "[auth]\nsite_url = 'https://app.test'\n\
             additional_redirect_urls = ['https://*.preview.test/**', 'https://auth.test/**']",
        )
    }

    #[track_caller]
    fn check(query: &str, expected: Option<&str>) {
        let uri: Uri = format!("/sign-in?{query}").parse().expect("a URI");
        let next = configured().next(ProjectKind::Ordinary, PAGE, &uri);
        let url = next.as_ref().map(|next| next.url.as_str());
        assert_eq!(url, expected, "{query}");
    }

    #[test]
    fn next_leads_to_the_application() {
        check("next=https://app.test", Some("https://app.test/"));
        check(
            "next=https%3A%2F%2Fapp.test%2Fa%3Fb%3Dc",
            Some("https://app.test/a?b=c"),
        );
        check("redirect_to=https://app.test/x", Some("https://app.test/x"));
        check(
            "redirect_to=https://evil.test&next=https://a.preview.test/",
            Some("https://a.preview.test/"),
        );
        check(
            "next=&redirect_to=https://app.test/",
            Some("https://app.test/"),
        );
    }

    #[test]
    fn next_leads_nowhere_else() {
        for next in [
            "",
            "/account",
            "//evil.test",
            "%2F%2Fevil.test",
            "https:evil.test",
            "https%3Aevil.test",
            "\\\\evil.test",
            "%5C%5Cevil.test",
            "https://app.test%5C@evil.test",
            "https://app.test@evil.test",
            "https://user%40app.test",
            "https://user@app.test",
            "https://app.test:8443",
            "http://app.test",
            "https://app.test.evil.test",
            "javascript:alert(1)",
            "javascript%3A//app.test/%250Aalert(1)",
            "%20https://app.test",
            "https%253A%252F%252Fapp.test",
            "https://app.test/%0d%0aSet-Cookie:a=b",
        ] {
            check(&format!("next={next}"), None);
        }
        check(&format!("next=https://app.test/{}", "a".repeat(2048)), None);
    }

    /// Other projects are at the same origin; the script knows which paths are this one's.
    #[test]
    fn the_own_origin_is_left_to_the_script() {
        check("next=https://auth.test/p/other/functions/v1/x", None);
    }

    #[test]
    fn operators_stay() {
        let uri = Uri::from_static("/console/sign-in?next=https://app.test");
        let next = configured().next(ProjectKind::Platform, PAGE, &uri);
        assert_eq!(next, None);
        assert_eq!(configured().site(ProjectKind::Platform), None);
    }

    #[test]
    fn the_return_url_is_a_site_that_settings_name() {
        let site = configured();
        assert_eq!(site.site(ProjectKind::Default), Some("https://app.test/"));
        assert_eq!(application("").site(ProjectKind::Default), None);
        let app = application("[auth]\nsite_url = 'myapp://home'");
        assert_eq!(app.site(ProjectKind::Default), None);
    }
}
