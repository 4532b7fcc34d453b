//! The relying party. From the settings only, never from the request.

use url::Url;

use crate::request::RequestContext;

#[derive(Debug, Clone)]
pub(crate) struct RelyingParty {
    /// The domain of the credentials; subdomains included.
    pub(crate) id: String,
    pub(crate) name: String,
    /// Accepted origins.
    pub(crate) origins: Vec<String>,
}

impl RelyingParty {
    /// As configured; by default the site's domain with the site's origin, and the account pages'
    /// origin if it is on the same domain.
    pub(crate) fn from_context(context: &RequestContext) -> Self {
        let config = &context.config.webauthn;
        let site = &context.config.site_url;
        let host = site.host_str().unwrap_or_default();
        let id = config.rp_id.clone().unwrap_or_else(|| host.to_owned());
        let origins = if config.rp_origins.is_empty() {
            let account = Url::parse(&context.account_url).ok();
            let account = account.filter(|url| is_on(url, &id));
            [Some(site), account.as_ref()]
                .into_iter()
                .flatten()
                .map(origin)
                .collect()
        } else {
            config.rp_origins.iter().map(origin).collect()
        };
        Self {
            name: config.rp_display_name.clone().unwrap_or_else(|| id.clone()),
            id,
            origins,
        }
    }

    pub(super) fn is_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }
}

/// Apps have other origins, such as `android:apk-key-hash:…`.
fn origin(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() {
        origin.ascii_serialization()
    } else {
        url.as_str().to_owned()
    }
}

fn is_on(url: &Url, domain: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let above = host.strip_suffix(domain);
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_as_browsers_write_them() {
        let check = |url: &str, expected: &str| {
            assert_eq!(origin(&Url::parse(url).expect(url)), expected);
        };
        check("https://site.test/path?x=1", "https://site.test");
        check("https://site.test:443", "https://site.test");
        check("http://localhost:3000/", "http://localhost:3000");
        check(
            "android:apk-key-hash:abc_D-1",
            "android:apk-key-hash:abc_D-1",
        );
    }

    #[test]
    fn a_domain_covers_what_is_below_it() {
        let check = |url: &str, expected: bool| {
            assert_eq!(
                is_on(&Url::parse(url).expect(url), "site.test"),
                expected,
                "{url}"
            );
        };
        check("https://site.test/x", true);
        check("https://api.site.test", true);
        check("https://evilsite.test", false);
        check("https://site.test.evil", false);
    }
}
