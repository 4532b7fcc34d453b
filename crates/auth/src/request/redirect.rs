//! Where people may be sent back to (auth contract §6.3).

mod glob;

use url::{Host, Url};

use glob::Glob;

/// `URI_ALLOW_LIST`
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowList {
    globs: Vec<Glob>,
}

impl AllowList {
    /// Patterns that cannot be read match nothing.
    pub(crate) fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let globs = patterns
            .into_iter()
            .filter_map(|pattern| Glob::parse(pattern.as_ref().trim()))
            .collect();
        Self { globs }
    }

    /// Whether `url` is the site's, the account pages', this machine's or listed.
    pub(crate) fn allows(&self, url: &str, site: &Url, account_pages: &str) -> bool {
        // Parsers drop them; headers cannot hold them.
        if url.contains(|c: char| c.is_ascii_control()) {
            return false;
        }
        let Ok(parsed) = Url::parse(url) else {
            return false;
        };
        let is_account_page = is_below(&parsed, account_pages) && is_plain_authority(url);
        if is_same_site(&parsed, site) || is_account_page {
            return true;
        }
        match trusted_host(&parsed, url) {
            HostTrust::Always => true,
            HostTrust::Never => false,
            HostTrust::IfListed => {
                let bare = url.split_once('#').map_or(url, |(bare, _)| bare);
                self.globs.iter().any(|glob| glob.matches(bare))
            }
        }
    }
}

enum HostTrust {
    Always,
    Never,
    IfListed,
}

/// What the host alone decides.
fn trusted_host(url: &Url, text: &str) -> HostTrust {
    // To any other scheme a host means what its program makes of it.
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
    match is_loopback {
        true => HostTrust::Always,
        false => HostTrust::Never,
    }
}

/// `http://2130706433/` means 127.0.0.1 to browsers; nobody writes that with good intent.
fn written_as_number(text: &str) -> bool {
    let host = authority(text).rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    host.split('.').count() != 4 || host.contains(['x', 'X'])
}

fn is_plain_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-')
}

/// Neither credentials nor anything that parsers read differently.
fn is_plain_authority(text: &str) -> bool {
    authority(text)
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
}

/// What stands between `//` and the path, as it was written.
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
    is_same_host && (is_same_port || site.host().is_some_and(|host| is_this_machine(&host)))
}

fn is_this_machine(host: &Host<&str>) -> bool {
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

    const LISTED: [&str; 5] = [
        "http://localhost:8000/*",
        "https://*.example.com/**",
        "https://exact.test/path",
        "myapp://**",
        "https://10.0.0.1/**",
    ];

    #[track_caller]
    fn check(url: &str, expected: bool) {
        let list = AllowList::new(LISTED);
        let site = Url::parse("https://site.test:8443/home").expect("a URL");
        let allowed = list.allows(url, &site, "https://api.test/account");
        assert_eq!(allowed, expected, "{url}");
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
        assert!(list.allows("http://localhost:5173/x", &site, ""));
        assert!(!list.allows("https://localhost:5173/x", &site, ""));
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
    fn tricky_hosts_are_refused() {
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

    #[test]
    fn the_account_pages_are_allowed() {
        check("https://api.test/account", true);
        check("https://api.test/account/confirm?x=1", true);
        check("https://api.test/accounts", false);
        check("https://api.test/account/../other", false);
        check("http://api.test/account", false);
        check("https://evil@api.test/account", false);
    }

    /// A project in a network of one's own has no other name.
    #[test]
    fn the_account_pages_may_be_at_any_address() {
        let list = AllowList::default();
        let site = Url::parse("http://localhost:3000").expect("a URL");
        let pages = "http://192.168.0.2:54321/account";
        assert!(list.allows("http://192.168.0.2:54321/account/confirm", &site, pages));
        assert!(!list.allows("http://192.168.0.2:54321/other", &site, pages));
        assert!(!list.allows("http://192.168.0.2/account", &site, pages));
        let pages = "http://[fd00::1]:54321/account";
        assert!(list.allows("http://[fd00::1]:54321/account/confirm", &site, pages));
    }
}
