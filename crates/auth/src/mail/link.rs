//! The links in mails (auth contract §7.2).

use url::{Url, form_urlencoded::byte_serialize};

use crate::request::RequestContext;

/// The parts of a link.
pub(super) struct Parts<'a> {
    /// Whose path setting applies: `confirmation`, `recovery`, `invite` or `email_change`.
    pub(super) path_of: &'a str,
    pub(super) verification_type: &'a str,
    pub(super) token_hash: &'a str,
    pub(super) redirect_to: &'a str,
}

pub(super) fn build(context: &RequestContext, parts: &Parts<'_>) -> String {
    let external_url = external_url(context);
    let path = context.config.mail.paths.get(parts.path_of);
    let page = confirm_page(&context.account_url, parts.redirect_to);
    render(&external_url, path.map(String::as_str), page, parts)
}

/// The public URL of the service; on the host that the request came through, if the settings allow
/// links to it.
pub(super) fn external_url(context: &RequestContext) -> String {
    let hosts = &context.config.mail.external_hosts;
    let through = context.forwarded_host.as_ref();
    match through.filter(|host| hosts.contains(host)) {
        Some(host) => on_host(&context.external_url, host),
        None => context.external_url.clone(),
    }
}

/// The same path on another host. Only localhost may be used without TLS.
fn on_host(external_url: &str, host: &str) -> String {
    let Ok(url) = Url::parse(external_url) else {
        return external_url.to_owned();
    };
    let scheme = if host == "localhost" && url.scheme() == "http" {
        "http"
    } else {
        "https"
    };
    format!("{scheme}://{host}{}", url.path().trim_end_matches('/'))
}

/// The confirmation page of the account pages, if that is the target. It asks before it uses the
/// token, because mail scanners open links, but press no buttons (client contract U5).
fn confirm_page<'a>(account_url: &str, redirect_to: &'a str) -> Option<&'a str> {
    let rest = redirect_to.strip_prefix(account_url)?;
    let rest = rest.strip_prefix("/confirm")?;
    let is_page = rest.is_empty() || rest == "/" || rest.starts_with('?');
    is_page.then_some(redirect_to)
}

fn render(external_url: &str, path: Option<&str>, page: Option<&str>, parts: &Parts<'_>) -> String {
    let hash = encoded(parts.token_hash);
    let verification_type = encoded(parts.verification_type);
    if let Some(page) = page {
        let (page, _) = page.split_once('#').unwrap_or((page, ""));
        let joint = if page.contains('?') { '&' } else { '?' };
        return format!("{page}{joint}token_hash={hash}&type={verification_type}");
    }
    let base = match path {
        None => format!("{external_url}/verify"),
        Some(path) => resolve(external_url, path),
    };
    let redirect_to = redirect(parts.redirect_to);
    format!("{base}?token={hash}&type={verification_type}&redirect_to={redirect_to}")
}

/// Paths from the settings are absolute.
fn resolve(external_url: &str, path: &str) -> String {
    let resolved = Url::parse(external_url).and_then(|base| base.join(path));
    match resolved {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        Err(_) => format!("{external_url}/verify"),
    }
}

/// Targets with one of these characters would be read as another URL, and are encoded.
fn redirect(target: &str) -> String {
    if target.contains(['&', '=', '#', '%', '+']) {
        encoded(target)
    } else {
        target.to_owned()
    }
}

fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = "https://api.test/auth/v1";
    const PAGES: &str = "https://api.test/account";

    #[track_caller]
    fn check(path: Option<&str>, redirect_to: &str, expected: &str) {
        let parts = Parts {
            path_of: "confirmation",
            verification_type: "signup",
            token_hash: "pkce_abc",
            redirect_to,
        };
        let page = confirm_page(PAGES, redirect_to);
        assert_eq!(render(API, path, page, &parts), expected);
    }

    #[test]
    fn links_lead_to_verify_below_the_service() {
        check(
            None,
            "https://site.test/",
            "https://api.test/auth/v1/verify?token=pkce_abc&type=signup&redirect_to=https://site.test/",
        );
    }

    #[test]
    fn a_path_of_the_settings_is_absolute() {
        check(
            Some("/v/erify"),
            "https://site.test/",
            "https://api.test/v/erify?token=pkce_abc&type=signup&redirect_to=https://site.test/",
        );
    }

    #[test]
    fn targets_are_encoded_only_where_they_would_break_the_query() {
        check(
            None,
            "https://site.test/?a=b&c#d",
            "https://api.test/auth/v1/verify?token=pkce_abc&type=signup\
             &redirect_to=https%3A%2F%2Fsite.test%2F%3Fa%3Db%26c%23d",
        );
    }

    #[test]
    fn encoded_targets_survive_the_query() {
        check(
            None,
            "https://site.test/%26+",
            "https://api.test/auth/v1/verify?token=pkce_abc&type=signup\
             &redirect_to=https%3A%2F%2Fsite.test%2F%2526%2B",
        );
    }

    #[test]
    fn the_confirm_page_gets_the_token_itself() {
        check(
            None,
            "https://api.test/account/confirm",
            "https://api.test/account/confirm?token_hash=pkce_abc&type=signup",
        );
        check(
            None,
            "https://api.test/account/confirm?next=%2Fx",
            "https://api.test/account/confirm?next=%2Fx&token_hash=pkce_abc&type=signup",
        );
        check(
            None,
            "https://api.test/account/confirmed",
            "https://api.test/auth/v1/verify?token=pkce_abc&type=signup\
             &redirect_to=https://api.test/account/confirmed",
        );
    }

    #[test]
    fn another_host_is_named_with_tls_unless_it_is_this_machine() {
        assert_eq!(on_host(API, "b.test"), "https://b.test/auth/v1");
        assert_eq!(
            on_host("http://x/auth/v1", "b.test"),
            "https://b.test/auth/v1"
        );
        assert_eq!(
            on_host("http://x/auth/v1", "localhost"),
            "http://localhost/auth/v1"
        );
    }
}
