//! One `Set-Cookie` header (C14–C16, C26).

use std::borrow::Cow;

use zeroize::Zeroize as _;

use super::header::Cookies;
use super::name::is_chunk_like;
use super::options::{CookieOptions, CookieOptionsError, check_domain, check_path};
use super::percent;

/// A cookie to be set or removed.
#[derive(Clone, PartialEq, Eq)]
pub struct Write {
    /// The cookie's name.
    pub name: String,
    /// Its value, not yet percent-encoded; empty for a removal.
    pub value: String,
    /// Whether it is a removal.
    pub is_removal: bool,
    domain: Option<String>,
    path: String,
}

/// Domain and path that an earlier version of an application used for its cookies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The domain; `None` is the host alone.
    pub domain: Option<String>,
    /// The path; `None` is the configured one.
    pub path: Option<String>,
}

impl Write {
    pub(super) fn set(name: String, value: String, options: &CookieOptions) -> Self {
        Self {
            name,
            value,
            is_removal: false,
            domain: options.domain.clone(),
            path: options.path.clone(),
        }
    }

    pub(super) fn removal(name: &str, domain: Option<&str>, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: String::new(),
            is_removal: true,
            domain: domain.map(str::to_owned),
            path: path.to_owned(),
        }
    }

    /// The percent-encoded value.
    pub fn wire_value(&self) -> Cow<'_, str> {
        percent::encode(&self.value)
    }

    /// The attributes after the value.
    pub fn attributes(&self, options: &CookieOptions) -> String {
        let max_age = if self.is_removal {
            0
        } else {
            CookieOptions::MAX_AGE_SECONDS
        };
        options.attributes(max_age, self.domain.as_deref(), &self.path)
    }

    /// The whole text of the `Set-Cookie` header.
    pub fn header(&self, options: &CookieOptions) -> String {
        format!(
            "{}={}{}",
            self.name,
            self.wire_value(),
            self.attributes(options)
        )
    }
}

/// The value is a credential and is wiped with the request (A40).
impl Drop for Write {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

/// Values are credentials: only their length is printed.
impl std::fmt::Debug for Write {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Write")
            .field("name", &self.name)
            .field("value_len", &self.value.len())
            .field("is_removal", &self.is_removal)
            .field("domain", &self.domain)
            .field("path", &self.path)
            .finish()
    }
}

impl Scope {
    /// Rejects scopes that cannot be written safely (A31).
    pub fn validate(&self) -> Result<(), CookieOptionsError> {
        check_domain(self.domain.as_deref())?;
        self.path.as_deref().map_or(Ok(()), check_path)
    }
}

/// Removes every cookie of a key at scopes that an earlier version of the application used.
///
/// Browsers do not reveal a cookie's scope, so a change of domain or path leaves old cookies behind that only
/// such a removal reaches. An invalid scope is an error.
pub fn remove_at_scopes(
    key: &str,
    request: &Cookies,
    scopes: &[Scope],
    options: &CookieOptions,
) -> Result<Vec<Write>, CookieOptionsError> {
    scopes.iter().try_for_each(Scope::validate)?;
    let names: Vec<&str> = request
        .iter()
        .map(|cookie| cookie.name.as_str())
        .filter(|name| is_chunk_like(name, key))
        .collect();
    let at = |scope: &Scope| -> Vec<Write> {
        let path = scope.path.as_deref().unwrap_or(&options.path);
        names
            .iter()
            .map(|name| Write::removal(name, scope.domain.as_deref(), path))
            .collect()
    };
    Ok(scopes.iter().flat_map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a31_no_scope_changes_a_header() {
        let request: Cookies = [("k", "v")].into_iter().collect();
        let options = CookieOptions::default();
        let removed = |domain: Option<&str>, path: Option<&str>| {
            let (domain, path) = (domain.map(str::to_owned), path.map(str::to_owned));
            let writes = remove_at_scopes("k", &request, &[Scope { domain, path }], &options)?;
            Ok(writes.iter().map(|write| write.header(&options)).collect())
        };

        let good: Result<Vec<String>, CookieOptionsError> = removed(Some(".a.test"), Some("/app"));
        assert_eq!(
            good.unwrap(),
            ["k=; Max-Age=0; Domain=.a.test; Path=/app; SameSite=Lax"]
        );
        for bad in ["a.test; Secure", "a.test\r\nX: y", ""] {
            let error = removed(Some(bad), None).unwrap_err();
            assert_eq!(error, CookieOptionsError::Domain(bad.to_owned()));
        }
        for bad in ["/; Domain=evil.test", "/\n", "app", ""] {
            let error = removed(None, Some(bad)).unwrap_err();
            assert_eq!(error, CookieOptionsError::Path(bad.to_owned()));
        }
    }
}
