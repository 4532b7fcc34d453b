//! Validation of the configuration (A31).

use plinth_client::InvalidProjectUrl;
use url::Url;

use crate::cookie::{CookieOptions, CookieOptionsError, is_valid_name};
use crate::network::Network;
use crate::next::checked_next;
use crate::origin::Origin;

/// Why a layer cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Invalid project URL.
    #[error(transparent)]
    ProjectUrl(#[from] InvalidProjectUrl),
    /// An invalid cookie name.
    #[error("the cookie name has characters that no cookie name may have: {0:?}")]
    CookieName(String),
    /// A cookie name prefix that requires attributes which the options lack.
    #[error(
        "browsers accept a cookie called {0:?} only with Secure, and `__Host-` only with path / and no domain"
    )]
    CookieNamePrefix(String),
    /// Unsafe cookie attributes.
    #[error(transparent)]
    CookieOptions(#[from] CookieOptionsError),
    /// An invalid URL or origin of this application.
    #[error("expected a URL that begins with http:// or https://: {0:?}")]
    Origin(String),
    /// An invalid redirect URL.
    #[error("expected an absolute URL: {0:?}")]
    Redirect(String),
    /// An invalid proxy address.
    #[error("expected an address or a network such as 10.0.0.0/8: {0:?}")]
    TrustedProxy(String),
    /// An invalid path of this application.
    #[error("expected a path on this host: {0:?}")]
    Path(String),
    /// An environment variable is missing or empty.
    #[error("the environment variable {0} is not set")]
    Environment(&'static str),
    /// The secret cannot be used as a key.
    #[error("the HS256 secret cannot be used as a key")]
    Secret,
}

pub(super) fn check_cookie(
    name: &str,
    options: &CookieOptions,
    public_origin: Option<&Origin>,
) -> Result<(), ConfigError> {
    if !is_valid_name(name) {
        return Err(ConfigError::CookieName(name.to_owned()));
    }
    options.validate()?;
    let is_insecure = options.secure == Some(false)
        || options.secure.is_none() && public_origin.is_some_and(|origin| !origin.is_https());
    let is_rejected = if name.starts_with("__Host-") {
        is_insecure || options.domain.is_some() || options.path != "/"
    } else {
        name.starts_with("__Secure-") && is_insecure
    };
    if is_rejected {
        return Err(ConfigError::CookieNamePrefix(name.to_owned()));
    }
    Ok(())
}

pub(super) fn all<T>(
    texts: Vec<String>,
    read: impl Fn(String) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    texts.into_iter().map(read).collect()
}

pub(super) fn origin(text: String) -> Result<Origin, ConfigError> {
    Origin::of(text.trim()).ok_or(ConfigError::Origin(text))
}

pub(super) fn redirect(text: String) -> Result<Url, ConfigError> {
    Url::parse(&text).map_err(|_| ConfigError::Redirect(text))
}

pub(super) fn network(text: String) -> Result<Network, ConfigError> {
    Network::parse(&text).ok_or(ConfigError::TrustedProxy(text))
}

pub(super) fn path(text: String) -> Result<String, ConfigError> {
    if text.starts_with('/') && checked_next(&text, &[]) == text {
        Ok(text)
    } else {
        Err(ConfigError::Path(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SessionLayer, SessionLayerBuilder};

    fn builder() -> SessionLayerBuilder {
        SessionLayer::builder("https://abc.example.co", "anon")
    }

    fn check(builder: SessionLayerBuilder, expected: ConfigError) {
        assert_eq!(builder.build().unwrap_err(), expected);
    }

    #[test]
    fn nothing_reaches_a_header_unchecked() {
        let name = |name: &str| ConfigError::CookieName(name.to_owned());
        check(builder().cookie_name(""), name(""));
        check(
            builder().cookie_name("a; Domain=evil"),
            name("a; Domain=evil"),
        );
        check(
            builder().cookie_name("a\r\nSet-Cookie: b"),
            name("a\r\nSet-Cookie: b"),
        );
        let options = CookieOptions::default().domain("a;b");
        check(
            builder().cookie_options(options),
            ConfigError::CookieOptions(CookieOptionsError::Domain("a;b".to_owned())),
        );
    }

    #[test]
    fn wrong_addresses_are_named() {
        let text = |text: &str| text.to_owned();
        check(
            SessionLayer::builder("abc", "anon"),
            ConfigError::ProjectUrl(InvalidProjectUrl),
        );
        check(
            builder().public_url("app"),
            ConfigError::Origin(text("app")),
        );
        check(
            builder().allowed_origins(["null"]),
            ConfigError::Origin(text("null")),
        );
        check(
            builder().allowed_redirects(["/x"]),
            ConfigError::Redirect(text("/x")),
        );
        check(
            builder().trusted_proxies(["proxy"]),
            ConfigError::TrustedProxy(text("proxy")),
        );
        check(
            builder().sign_in_path("//evil"),
            ConfigError::Path(text("//evil")),
        );
        check(builder().mfa_path("mfa"), ConfigError::Path(text("mfa")));
        check(builder().hs256_secret(""), ConfigError::Secret);
    }

    #[test]
    fn name_prefixes_get_the_attributes_that_browsers_insist_on() {
        let prefixed = |name: &str| builder().public_url("https://app.test").cookie_name(name);
        let rejected = |name: &str| ConfigError::CookieNamePrefix(name.to_owned());
        let options = CookieOptions::default;

        assert!(prefixed("__Host-s").build().is_ok());
        assert!(
            prefixed("__Secure-s")
                .cookie_options(options().domain("app.test"))
                .build()
                .is_ok()
        );
        check(
            prefixed("__Host-s").cookie_options(options().domain("app.test")),
            rejected("__Host-s"),
        );
        check(
            prefixed("__Host-s").cookie_options(options().path("/a")),
            rejected("__Host-s"),
        );
        check(
            prefixed("__Host-s").cookie_options(options().secure(false)),
            rejected("__Host-s"),
        );
        check(
            prefixed("__Secure-s").public_url("http://localhost:1"),
            rejected("__Secure-s"),
        );
    }
}
