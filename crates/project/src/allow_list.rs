//! Where users may be redirected to after a flow of the auth service (auth contract §6.3), or from
//! the account pages (client contract A34).

mod glob;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use glob::Glob;

/// `auth.additional_redirect_urls`, GoTrue's `URI_ALLOW_LIST`
#[derive(Debug, Clone, Default)]
pub struct AllowList {
    globs: Vec<Glob>,
    /// The patterns up to their path.
    origins: Vec<Glob>,
}

impl AllowList {
    /// Malformed patterns match nothing.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut list = Self::default();
        for pattern in patterns {
            let pattern = pattern.as_ref().trim();
            list.globs.extend(Glob::parse(pattern));
            list.origins
                .extend(origin_pattern(pattern).and_then(Glob::parse));
        }
        list
    }

    /// Whether a pattern can match anything.
    pub fn is_well_formed(pattern: &str) -> bool {
        Glob::parse(pattern.trim()).is_some()
    }

    /// The URL as its parser serialises it, if it belongs to the site, the account pages or the
    /// loopback interface, or is listed. What is sent is what was checked: other parsers may read
    /// the text of the request in another way.
    pub fn resolve(&self, url: &str, site: &Url, account_pages: &str) -> Option<String> {
        // URL parsers drop control characters, and headers cannot contain them.
        if url.contains(|c: char| c.is_ascii_control()) {
            return None;
        }
        let parsed = Url::parse(url).ok()?;
        let target = serialise(&parsed, url);
        let is_account_page = is_below(&parsed, account_pages) && is_plain_authority(url);
        let is_allowed = is_same_site(&parsed, site)
            || is_account_page
            || match trusted_host(&parsed, url) {
                HostTrust::Always => true,
                HostTrust::Never => false,
                HostTrust::IfListed => {
                    self.lists(&target) || is_as_written(&parsed, url) && self.lists(url)
                }
            };
        is_allowed.then_some(target)
    }

    /// The URL as its parser serialises it, if its origin is the site's or on the list: where the
    /// account pages may lead to. Nothing secret goes with it, so the path does not matter; but this
    /// machine is not trusted on behalf of a site elsewhere, and apps are not opened.
    pub fn resolve_origin(&self, url: &str, site: &Url) -> Option<String> {
        // Browsers drop control characters and read backslashes as slashes.
        if url.contains(|c: char| c.is_control() || c == '\\') || !is_plain_authority(url) {
            return None;
        }
        let parsed = Url::parse(url).ok()?;
        let is_web = matches!(parsed.scheme(), "http" | "https");
        // `https:evil.test` and `https:///evil.test` are absolute for parsers, too.
        let is_written_out =
            url.get(parsed.scheme().len()..)?.starts_with("://") && !authority(url).is_empty();
        if !is_web || !is_written_out {
            return None;
        }
        let is_this_machine = |url: &Url| url.host().is_some_and(|host| is_loopback(&host));
        let origin = parsed.origin().ascii_serialization();
        let is_listed = || self.origins.iter().any(|glob| glob.matches(&origin));
        let is_allowed = is_same_site(&parsed, site)
            || match trusted_host(&parsed, url) {
                HostTrust::Always => is_this_machine(site) || is_listed(),
                HostTrust::Never => false,
                HostTrust::IfListed => is_listed(),
            };
        is_allowed.then(|| parsed.to_string())
    }

    fn lists(&self, url: &str) -> bool {
        let bare = url.split_once('#').map_or(url, |(bare, _)| bare);
        self.globs.iter().any(|glob| glob.matches(bare))
    }
}

/// `https://*.example.com` of `https://*.example.com/**`.
fn origin_pattern(pattern: &str) -> Option<&str> {
    let host = pattern.find("://")? + "://".len();
    let path = pattern[host..].find('/');
    Some(path.map_or(pattern, |path| &pattern[..host + path]))
}

/// Without the slash that the parser appends to a bare host.
fn serialise(parsed: &Url, written: &str) -> String {
    match parsed.as_str().strip_suffix('/') {
        Some(bare) if bare == written => bare.to_owned(),
        _ => parsed.to_string(),
    }
}

/// Whether the parser changed at most the encoding of the path. If it resolved `..` or a backslash,
/// the text must not be compared with patterns: it is not where the redirect leads.
fn is_as_written(parsed: &Url, text: &str) -> bool {
    let after_authority = match text.split_once("//") {
        Some((_, rest)) => &rest[authority(text).len()..],
        None => text.split_once(':').map_or("", |(_, rest)| rest),
    };
    let end = after_authority.find(['?', '#']);
    let written = &after_authority[..end.unwrap_or(after_authority.len())];
    let is_bare_host = written.is_empty() && parsed.path() == "/";
    is_bare_host || percent_decode_str(written).eq(percent_decode_str(parsed.path()))
}

enum HostTrust {
    Always,
    Never,
    IfListed,
}

/// What can be decided by the host alone.
fn trusted_host(url: &Url, text: &str) -> HostTrust {
    // Other schemes interpret hosts in their own way.
    if !matches!(url.scheme(), "http" | "https") {
        return match url.host_str() {
            Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => HostTrust::Never,
            _ => HostTrust::IfListed,
        };
    }
    match url.host() {
        Some(Host::Ipv4(ip)) => loopback(ip.is_loopback() && !written_as_number(text)),
        Some(Host::Ipv6(ip)) => loopback(ip.is_loopback()),
        Some(Host::Domain(name)) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
            HostTrust::Never
        }
        Some(Host::Domain(name)) if !is_plain_name(name) || !is_plain_authority(text) => {
            HostTrust::Never
        }
        Some(Host::Domain(_)) => HostTrust::IfListed,
        None => HostTrust::IfListed,
    }
}

fn loopback(is_loopback: bool) -> HostTrust {
    if is_loopback {
        HostTrust::Always
    } else {
        HostTrust::Never
    }
}

/// Browsers read `http://2130706433/` as 127.0.0.1; such spellings are used to get around filters.
fn written_as_number(text: &str) -> bool {
    let host = authority(text).rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    host.split('.').count() != 4 || host.contains(['x', 'X'])
}

fn is_plain_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-')
}

/// No user info, and no characters that parsers treat differently.
fn is_plain_authority(text: &str) -> bool {
    authority(text)
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
}

/// The authority as it is written, between `//` and the path.
fn authority(text: &str) -> &str {
    let rest = text.split_once("//").map_or("", |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    &rest[..end]
}

fn is_same_site(url: &Url, site: &Url) -> bool {
    let is_same_host = url.scheme() == site.scheme()
        && url.host_str().is_some()
        && url.host_str() == site.host_str()
        && url.username().is_empty()
        && url.password().is_none();
    let is_same_port = url.port_or_known_default() == site.port_or_known_default();
    is_same_host && (is_same_port || site.host().is_some_and(|host| is_loopback(&host)))
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(ip) => ip.is_loopback() || ip.is_unspecified(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

/// `https://a.b/account/x` below `https://a.b/account`.
fn is_below(url: &Url, base: &str) -> bool {
    let Ok(base_url) = Url::parse(base) else {
        return false;
    };
    let prefix = base_url.path().trim_end_matches('/');
    url.origin() == base_url.origin()
        && url.origin().is_tuple()
        && url
            .path()
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: [&str; 8] = [
        "http://localhost:8000/*",
        "https://*.example.com/**",
        "https://exact.test/path",
        "myapp://**",
        "https://10.0.0.1/**",
        "https://folder.test/app/**",
        "https://folder.test/gr\u{f6}\u{df}e",
        "https://bare.test",
    ];

    fn resolve(url: &str) -> Option<String> {
        let site = Url::parse("https://site.test:8443/home").expect("a URL");
        AllowList::new(LISTED).resolve(url, &site, "https://api.test/account")
    }

    #[track_caller]
    fn check(url: &str, expected: bool) {
        assert_eq!(resolve(url).is_some(), expected, "{url}");
    }

    #[test]
    fn the_target_is_what_the_parser_made_of_it() {
        for (url, target) in [
            (
                "https://folder.test/app/\u{e4} b?q=\u{fc}#f g",
                "https://folder.test/app/%C3%A4%20b?q=%C3%BC#f%20g",
            ),
            (
                "https://folder.test/gr\u{f6}\u{df}e",
                "https://folder.test/gr%C3%B6%C3%9Fe",
            ),
            ("HTTPS://A.Example.com/x", "https://a.example.com/x"),
            (
                "https://site.test:8443\\@evil.test/",
                "https://site.test:8443/@evil.test/",
            ),
            ("https://bare.test", "https://bare.test"),
            ("https://site.test:8443", "https://site.test:8443"),
            ("myapp://callback/\u{e4}", "myapp://callback/%C3%A4"),
        ] {
            assert_eq!(resolve(url).as_deref(), Some(target), "{url}");
        }
    }

    #[test]
    fn a_path_cannot_leave_its_folder() {
        check("https://folder.test/app/a/../b", true);
        check("https://folder.test/app/../admin", false);
        check("https://folder.test/app/%2e%2e/admin", false);
        check("https://folder.test/app\\..\\admin", false);
        check("https://folder.test/app/..\\admin", false);
    }

    #[test]
    fn the_site_itself_is_allowed() {
        check("https://site.test:8443", true);
        check("https://site.test:8443/any/where?x=1#f", true);
        check("https://site.test/home", false);
        check("http://site.test:8443/", false);
        check("https://site.test:8443@evil.test/", false);
        check("https://user@site.test:8443/", false);
    }

    #[test]
    fn any_port_will_do_where_the_site_is_this_machine() {
        let list = AllowList::default();
        let site = Url::parse("http://localhost:3000").expect("a URL");
        assert!(list.resolve("http://localhost:5173/x", &site, "").is_some());
        assert!(
            list.resolve("https://localhost:5173/x", &site, "")
                .is_none()
        );
    }

    #[test]
    fn stars_stop_at_dots_and_slashes() {
        check("http://localhost:8000/path?x=1", true);
        check("http://localhost:8000/a/b", false);
        check("http://localhost:8000", false);
        check("https://a.example.com/x/y", true);
        check("https://a.b.example.com/x", false);
        check("https://example.com/", false);
        check("https://exact.test/path", true);
        check("https://exact.test/path#fragment", true);
        check("https://exact.test/path/more", false);
        check("myapp://callback/deep?x=1", true);
        check("other://callback", false);
    }

    #[test]
    fn addresses_are_allowed_only_when_they_are_this_machine() {
        check("http://127.0.0.1:9999/x", true);
        check("http://127.9.9.9/x", true);
        check("http://[::1]:3000/x", true);
        check("http://192.168.0.2/x", false);
        check("https://10.0.0.1/x", false);
        check("http://2130706433/", false);
        check("http://0x7f000001/", false);
        check("http://127.1/", false);
        check("evilapp://[::1]/cb", false);
        check("evilapp://127.0.0.1/cb", false);
    }

    #[test]
    fn tricky_hosts_are_rejected() {
        check("https://evil.test/.example.com/", false);
        check("https://evil.test?.example.com/", false);
        check("https://evil.test\\.example.com/x", false);
        check("https://evil.test%2f.example.com/x", false);
        check("https://a.example.com@evil.test/x", false);
        check("https://evil.test#@a.example.com/x", false);
        check("https://a.example.com.evil.test/x", false);
        check("https://ex\u{e4}mple.example.com/x", false);
        check("//a.example.com/x", false);
        check("javascript:alert(1)", false);
        check("https://site.test:8443/\n", false);
        check("https://site.test:8443/\t", false);
        check("", false);
        check("not a url", false);
    }

    fn resolve_origin(url: &str) -> Option<String> {
        let site = Url::parse("https://site.test:8443/home").expect("a URL");
        AllowList::new(LISTED).resolve_origin(url, &site)
    }

    #[test]
    fn account_pages_lead_to_any_path_of_a_listed_origin() {
        for url in [
            "https://site.test:8443/",
            "https://site.test:8443/any/where?x=1#f",
            "https://a.example.com/x/y",
            "https://exact.test/another/path",
            "https://bare.test/deep?x=https://evil.test",
            "http://localhost:8000/a/b",
        ] {
            assert_eq!(resolve_origin(url).as_deref(), Some(url), "{url}");
        }
        let target = resolve_origin("https://bare.test/\u{e4}/../b c");
        assert_eq!(target.as_deref(), Some("https://bare.test/b%20c"));
    }

    #[test]
    fn account_pages_lead_nowhere_else() {
        for url in [
            "",
            "/account",
            "//evil.test",
            "///evil.test",
            "\\\\evil.test",
            "/\\evil.test",
            "https:evil.test",
            "https:/evil.test",
            "https:bare.test",
            "https:///bare.test",
            "https:\\\\bare.test",
            "https://evil.test",
            "http://bare.test/",
            "https://bare.test:8443/",
            "https://site.test/",
            "https://bare.test.evil.test/",
            "https://evil.test/https://bare.test",
            "https://evil.test?https://bare.test",
            "https://evil.test#@bare.test/",
            "https://bare.test@evil.test/",
            "https://user@bare.test/",
            "https://user:pass@bare.test/",
            "https://bare.test\\@evil.test/",
            "https://bare.test%2eevil.test/",
            "https://bare%2etest/",
            "https%3A%2F%2Fbare.test",
            "https://ba\nre.test/",
            "https://bare.test/\t",
            " https://bare.test/",
            "javascript:alert(1)",
            "javascript://bare.test/%0aalert(1)",
            "data:text/html,x",
            "myapp://callback",
            "http://127.0.0.1:9999/",
            "http://localhost:9999/",
            "http://[::1]/",
            "https://10.0.0.1/",
            "http://2130706433/",
        ] {
            assert_eq!(resolve_origin(url), None, "{url}");
        }
    }

    #[test]
    fn a_site_on_this_machine_trusts_this_machine() {
        let list = AllowList::default();
        let site = Url::parse("http://127.0.0.1:3000").expect("a URL");
        for url in ["http://127.0.0.1:5173/x", "http://[::1]:3000/"] {
            assert!(list.resolve_origin(url, &site).is_some(), "{url}");
        }
        assert!(list.resolve_origin("http://evil.test/", &site).is_none());
    }

    #[test]
    fn the_account_pages_are_allowed() {
        check("https://api.test/account", true);
        check("https://api.test/account/confirm?x=1", true);
        check("https://api.test/accounts", false);
        check("https://api.test/account/../other", false);
        check("http://api.test/account", false);
        check("https://evil@api.test/account", false);
    }

    /// Projects in a private network have no other name.
    #[test]
    fn the_account_pages_may_be_at_any_address() {
        let list = AllowList::default();
        let site = Url::parse("http://localhost:3000").expect("a URL");
        let pages = "http://192.168.0.2:54321/account";
        assert!(
            list.resolve("http://192.168.0.2:54321/account/confirm", &site, pages)
                .is_some()
        );
        assert!(
            list.resolve("http://192.168.0.2:54321/other", &site, pages)
                .is_none()
        );
        assert!(
            list.resolve("http://192.168.0.2/account", &site, pages)
                .is_none()
        );
        let pages = "http://[fd00::1]:54321/account";
        assert!(
            list.resolve("http://[fd00::1]:54321/account/confirm", &site, pages)
                .is_some()
        );
    }
}
