//! Cookie attributes and their format (C14, C15, A31).

use std::fmt::{self, Write as _};

/// Which requests from other sites carry the cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameSite {
    /// Only top-level navigations. The default.
    #[default]
    Lax,
    /// None, so that users who follow a link from another site arrive signed out.
    Strict,
    /// All. Browsers then require `Secure`.
    None,
}

/// Which cookies a browser evicts last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Evicted first.
    Low,
    /// The browsers' default.
    Medium,
    /// Evicted last.
    High,
}

/// The attributes of all session cookies.
///
/// The defaults are those of `@supabase/ssr`: path `/`, same-site lax, readable by scripts. The lifetime is
/// fixed at 400 days, as there; the server ends sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieOptions {
    pub(crate) path: String,
    pub(crate) domain: Option<String>,
    pub(crate) same_site: SameSite,
    pub(crate) http_only: bool,
    pub(crate) secure: Option<bool>,
    pub(crate) partitioned: bool,
    pub(crate) priority: Option<Priority>,
}

/// Why cookie options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CookieOptionsError {
    /// A path with a semicolon or control character would change other attributes.
    #[error("the cookie path must start with / and have no semicolon or control character: {0:?}")]
    Path(String),
    /// A domain consists of labels of letters, digits and hyphens, with an optional leading dot.
    #[error("the cookie domain is not a domain name: {0:?}")]
    Domain(String),
    /// Browsers silently drop such cookies.
    #[error("browsers reject cookies with SameSite=None or Partitioned that are not Secure")]
    NeedsSecure,
}

impl Default for CookieOptions {
    fn default() -> Self {
        Self {
            path: "/".to_owned(),
            domain: None,
            same_site: SameSite::default(),
            http_only: false,
            secure: None,
            partitioned: false,
            priority: None,
        }
    }
}

impl CookieOptions {
    /// 400 days, the longest that browsers keep a cookie (K8).
    pub const MAX_AGE_SECONDS: u32 = 34_560_000;

    /// The path below which cookies are sent.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Shares cookies with all hosts of a domain. By default only this host sees them.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Which requests from other sites carry cookies.
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// Hides cookies from scripts. Only for applications without a client in the browser: it could
    /// neither read nor refresh the session (C17).
    pub fn http_only(mut self, http_only: bool) -> Self {
        self.http_only = http_only;
        self
    }

    /// Whether cookies are `Secure`. Default true (C18), except where the layer's public URL, or a trusted
    /// proxy, says plain http; and on the loopback host where neither is configured. This overrides both.
    pub fn secure(mut self, secure: bool) -> Self {
        self.secure = Some(secure);
        self
    }

    /// Partitions cookies by embedding site.
    pub fn partitioned(mut self, partitioned: bool) -> Self {
        self.partitioned = partitioned;
        self
    }

    /// Eviction priority.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Rejects attributes that are unsafe or that browsers would drop.
    pub fn validate(&self) -> Result<(), CookieOptionsError> {
        check_path(&self.path)?;
        check_domain(self.domain.as_deref())?;
        let needs_secure = self.same_site == SameSite::None || self.partitioned;
        if needs_secure && self.secure == Some(false) {
            return Err(CookieOptionsError::NeedsSecure);
        }
        Ok(())
    }

    /// The attributes as they follow a value: `; Max-Age=…; Path=/; SameSite=Lax`.
    pub(crate) fn attributes(&self, max_age: u32, domain: Option<&str>, path: &str) -> String {
        let mut text = format!("; Max-Age={max_age}");
        if let Some(domain) = domain {
            _ = write!(text, "; Domain={domain}");
        }
        _ = write!(text, "; Path={path}");
        let flags = [
            (self.http_only, "; HttpOnly"),
            (self.secure == Some(true), "; Secure"),
            (self.partitioned, "; Partitioned"),
        ];
        flags
            .iter()
            .filter(|(is_on, _)| *is_on)
            .for_each(|(_, flag)| text.push_str(flag));
        if let Some(priority) = self.priority {
            _ = write!(text, "; Priority={priority:?}");
        }
        _ = write!(text, "; SameSite={}", self.same_site);
        text
    }
}

impl fmt::Display for SameSite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// A path that changes no other attribute.
pub(super) fn check_path(path: &str) -> Result<(), CookieOptionsError> {
    let is_path_char = |char: char| char != ';' && !char.is_control() && char.is_ascii();
    let is_path = path.starts_with('/') && path.chars().all(is_path_char);
    is_path
        .then_some(())
        .ok_or_else(|| CookieOptionsError::Path(path.to_owned()))
}

/// A domain name, or none.
pub(super) fn check_domain(domain: Option<&str>) -> Result<(), CookieOptionsError> {
    match domain {
        Some(domain) if !is_domain(domain) => Err(CookieOptionsError::Domain(domain.to_owned())),
        _ => Ok(()),
    }
}

/// DNS labels, with an optional dot before them.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_prefix('.').unwrap_or(text);
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_one_order() {
        let options = CookieOptions::default()
            .path("/app")
            .domain(".example.com")
            .same_site(SameSite::None)
            .http_only(true)
            .secure(true)
            .partitioned(true)
            .priority(Priority::High);

        assert_eq!(
            options.attributes(60, options.domain.as_deref(), &options.path),
            "; Max-Age=60; Domain=.example.com; Path=/app; HttpOnly; Secure; Partitioned; \
             Priority=High; SameSite=None"
        );
        assert_eq!(options.validate(), Ok(()));
    }

    #[test]
    fn nothing_that_changes_a_header_is_accepted() {
        let domain = |text: &str| CookieOptions::default().domain(text).validate();
        let path = |text: &str| CookieOptions::default().path(text).validate();

        for good in ["example.com", ".example.com", "localhost", "a-b.c1"] {
            assert_eq!(domain(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            ".",
            "a..b",
            "-a.b",
            "a-.b",
            "a b",
            "a;Secure",
            "a\r\nX: y",
            "ä.de",
            "a/b",
        ] {
            assert_eq!(
                domain(bad),
                Err(CookieOptionsError::Domain(bad.to_owned())),
                "{bad}"
            );
        }
        for bad in ["", "app", "/a;Secure", "/a\r\nX: y", "/\u{7f}", "/ä"] {
            assert_eq!(
                path(bad),
                Err(CookieOptionsError::Path(bad.to_owned())),
                "{bad}"
            );
        }
    }

    #[test]
    fn what_browsers_would_drop_is_rejected() {
        let insecure = CookieOptions::default().secure(false);

        assert_eq!(insecure.validate(), Ok(()));
        for options in [
            insecure.clone().same_site(SameSite::None),
            insecure.partitioned(true),
        ] {
            assert_eq!(options.validate(), Err(CookieOptionsError::NeedsSecure));
        }
    }
}
