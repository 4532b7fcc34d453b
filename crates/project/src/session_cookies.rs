//! Name and path of the cookies in which a project's pages keep their session (client contract S4, U1).
//!
//! The published client chooses the name by the host alone and writes to path `/`. Projects below one
//! host would then read and overwrite each other's sessions, so those have names and paths of their own.

use url::Url;

use crate::{ProjectKind, ProjectRef, PublicUrl, account_pages_url};

/// The cookies of operators, who have the same name on every host.
pub const OPERATOR_COOKIE: &str = "sb-platform-auth-token";

/// The name of a project's session cookies at this address.
pub fn session_cookie_name(
    kind: ProjectKind,
    reference: &ProjectRef,
    public_url: &PublicUrl,
) -> String {
    match kind {
        ProjectKind::Platform => OPERATOR_COOKIE.to_owned(),
        _ if is_by_path(public_url) => format!("sb-{reference}-auth-token"),
        _ => host_cookie_name(public_url.as_str()).unwrap_or_default(),
    }
}

/// The path below which browsers send them: the project's, or that of the operators' pages.
pub fn session_cookie_path(kind: ProjectKind, public_url: &PublicUrl) -> String {
    let path = match kind {
        ProjectKind::Platform => url_path(&account_pages_url(kind, public_url, "")),
        _ if is_by_path(public_url) => url_path(public_url.as_str()),
        _ => String::new(),
    };
    if path.is_empty() {
        "/".to_owned()
    } else {
        path
    }
}

/// The name that the published client chooses for a project at this URL, by the first label of its host.
pub fn host_cookie_name(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let label = url.host_str()?.split('.').next()?;
    Some(format!("sb-{label}-auth-token"))
}

/// Whether the URL ends in `/p/<name>`.
fn is_by_path(public_url: &PublicUrl) -> bool {
    let path = url_path(public_url.as_str());
    let mut segments = path.rsplit('/');
    segments.next().is_some() && segments.next() == Some("p")
}

/// The path of a URL, without a slash at its end.
pub fn url_path(url: &str) -> String {
    let url = Url::parse(url).ok();
    let path = url.as_ref().map_or("", |url| url.path());
    path.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_on_one_host_have_different_cookie_names_and_paths() {
        let reference: ProjectRef = "abcdefghijklmnopqrst".parse().expect("a ref");
        let check = |kind, url: &str, name: &str, path: &str| {
            let url = PublicUrl::new(url);
            assert_eq!(session_cookie_name(kind, &reference, &url), name, "{url}");
            assert_eq!(session_cookie_path(kind, &url), path, "{url}");
        };
        let own = "sb-abcdefghijklmnopqrst-auth-token";
        let by_path = "http://localhost:54321/p/abcdefghijklmnopqrst";

        check(
            ProjectKind::Default,
            "http://localhost:1",
            "sb-localhost-auth-token",
            "/",
        );
        check(
            ProjectKind::Default,
            "http://127.0.0.1:1",
            "sb-127-auth-token",
            "/",
        );
        check(
            ProjectKind::Default,
            "https://api.example.com/base",
            "sb-api-auth-token",
            "/",
        );
        check(
            ProjectKind::Ordinary,
            by_path,
            own,
            "/p/abcdefghijklmnopqrst",
        );
        check(
            ProjectKind::Default,
            "http://localhost/p/default",
            own,
            "/p/default",
        );
        check(
            ProjectKind::Ordinary,
            "https://api.example.com/base/p/shop",
            own,
            "/base/p/shop",
        );
        check(
            ProjectKind::Ordinary,
            "https://shop.example.com",
            "sb-shop-auth-token",
            "/",
        );
        check(
            ProjectKind::Platform,
            "http://localhost/p/platform",
            OPERATOR_COOKIE,
            "/console",
        );
        check(
            ProjectKind::Platform,
            "https://ops.example.com",
            OPERATOR_COOKIE,
            "/console",
        );
    }
}
