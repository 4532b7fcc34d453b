//! Which paths of a host belong to other projects: they share its origin, so a redirect there would hand
//! over whatever it carries.

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::{CONSOLE, ProjectKind, PublicUrl, account_pages_url, session_cookie_path, url_path};

/// How often a path is decoded: by a proxy or two, and by us.
const MAX_DECODINGS: usize = 3;

/// Paths of other projects, on the host of a project at its root. Elsewhere a project has a path or a host of
/// its own.
pub fn other_project_paths(kind: ProjectKind, public_url: &PublicUrl) -> Vec<String> {
    let is_at_root = session_cookie_path(kind, public_url) == "/";
    if kind != ProjectKind::Default || !is_at_root {
        return Vec::new();
    }
    let base = url_path(public_url.as_str());
    vec![format!("{base}/p"), format!("{base}{CONSOLE}")]
}

/// Whether the URL leads to this instance, but neither to the project nor below its site.
pub fn is_in_other_project(
    kind: ProjectKind,
    public_url: &PublicUrl,
    site: &Url,
    target: &Url,
) -> bool {
    let Ok(own) = Url::parse(public_url.as_str()) else {
        return false;
    };
    if !is_same_server(&own, target) {
        return false;
    }
    let path = segments(target.path());
    // The path has no dot segments but encoded ones, which a proxy may decode and resolve.
    if path.iter().any(|segment| is_ambiguous(segment)) {
        return true;
    }
    let is_below = |base: &str| path.starts_with(&segments(base));
    let site_path = site.path();
    if is_same_server(site, target) && site_path != "/" && is_below(site_path) {
        return false;
    }
    if session_cookie_path(kind, public_url) == "/" {
        let base = url_path(public_url.as_str());
        return is_below(&format!("{base}/p")) || is_below(&format!("{base}{CONSOLE}"));
    }
    let pages = url_path(&account_pages_url(kind, public_url, ""));
    !is_below(own.path()) && !is_below(&pages)
}

/// One server listens on all names of the loopback interface.
fn is_same_server(own: &Url, other: &Url) -> bool {
    let is_same_host = own.host() == other.host() || (is_loopback(own) && is_loopback(other));
    is_same_host && own.port_or_known_default() == other.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        None => false,
    }
}

/// Decoded, without parameters and empty ones, as a proxy in front may read the path.
fn segments(path: &str) -> Vec<String> {
    let mut decoded = path.to_owned();
    for _ in 0..MAX_DECODINGS {
        decoded = decode(&decoded);
    }
    let segments = decoded.split('/').map(|segment| {
        let (name, _parameters) = segment.split_once(';').unwrap_or((segment, ""));
        name.to_owned()
    });
    segments.filter(|segment| !segment.is_empty()).collect()
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Whether a decoded segment may lead elsewhere than it seems to.
fn is_ambiguous(segment: &str) -> bool {
    segment == "." || segment == ".." || segment.contains('\\') || decode(segment) != segment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ProjectKind, own: &str, target: &str, expected: bool) {
        let site = Url::parse("https://app.test").expect("a URL");
        let url = Url::parse(target).expect("a URL");
        let is_other = is_in_other_project(kind, &PublicUrl::new(own), &site, &url);
        assert_eq!(is_other, expected, "{target} for {own}");
    }

    #[test]
    fn the_default_project_does_not_lead_into_others() {
        let own = "https://host.test";
        for inside in [
            "https://host.test/p/b/functions/v1/x",
            "https://host.test/%70/b/functions/v1/x",
            "https://host.test//p//b",
            "https://host.test/console",
            "http://host.test:443/p/b",
            "https://host.test/x%2F..%2Fp%2Fb%2Ffunctions%2Fv1%2Fx",
            "https://host.test/x%2f%2e%2e%2fconsole",
            "https://host.test/x%5C..%5Cp",
            "https://host.test/x%252F%252e%252e%252Fp",
            "https://host.test/x%25252525252e",
            "https://host.test/..;/p",
        ] {
            check(ProjectKind::Default, own, inside, true);
        }
        for outside in [
            "https://host.test/account",
            "https://host.test/pages",
            "https://host.test/100%25;a=b",
            "https://host.test:8443/p/b",
            "https://other.test/p/b",
        ] {
            check(ProjectKind::Default, own, outside, false);
        }
    }

    #[test]
    fn names_of_the_loopback_interface_are_one_host() {
        let own = "http://127.0.0.1:54321";
        check(
            ProjectKind::Default,
            own,
            "http://localhost:54321/p/b",
            true,
        );
        check(ProjectKind::Default, own, "http://[::1]:54321/p/b", true);
        check(
            ProjectKind::Default,
            own,
            "http://localhost:3000/p/b",
            false,
        );
    }

    #[test]
    fn a_project_with_a_path_leads_to_that_path_only() {
        let own = "https://host.test/p/a";
        check(
            ProjectKind::Ordinary,
            own,
            "https://host.test/p/a/account",
            false,
        );
        for outside in [
            "/p/b",
            "/p/ab",
            "/",
            "/functions/v1/x",
            "/console",
            "/p/a/x%2F..%2F..%2Fb/functions/v1/x",
            "/p/a/%5C..%5Cb",
        ] {
            let target = format!("https://host.test{outside}");
            check(ProjectKind::Ordinary, own, &target, true);
        }
        let own = "https://host.test/p/platform";
        check(
            ProjectKind::Platform,
            own,
            "https://host.test/console/x",
            false,
        );
        check(ProjectKind::Platform, own, "https://host.test/p/b", true);
    }

    #[test]
    fn a_site_with_a_path_is_the_projects_own() {
        let site = Url::parse("https://host.test/app").expect("a URL");
        let own = PublicUrl::new("https://host.test/p/a");
        let leads_away = |target: &str| {
            let target = Url::parse(target).expect("a URL");
            is_in_other_project(ProjectKind::Ordinary, &own, &site, &target)
        };
        assert!(!leads_away("https://host.test/app/welcome"));
        assert!(leads_away("https://host.test/application"));
    }

    #[test]
    fn the_default_project_knows_where_the_others_are() {
        let check = |kind, url: &str, expected: &[&str]| {
            let paths = other_project_paths(kind, &PublicUrl::new(url));
            assert_eq!(paths, expected, "{url}");
        };
        check(ProjectKind::Default, "http://a.test", &["/p", "/console"]);
        check(
            ProjectKind::Default,
            "http://a.test/base",
            &["/base/p", "/base/console"],
        );
        check(ProjectKind::Default, "http://a.test/p/default", &[]);
        check(ProjectKind::Ordinary, "http://shop.test", &[]);
        check(ProjectKind::Platform, "http://a.test/p/platform", &[]);
    }
}
