//! The links that letters contain (auth contract §7.2).

use url::{Url, form_urlencoded::byte_serialize};

use crate::request::Context;

/// What a link is made of.
pub(super) struct Parts<'a> {
    /// Whose path setting applies: `confirmation`, `recovery`, `invite` or `email_change`.
    pub(super) path_of: &'a str,
    pub(super) verification_type: &'a str,
    pub(super) token_hash: &'a str,
    pub(super) redirect_to: &'a str,
}

/// The whole link.
pub(super) fn build(context: &Context, parts: &Parts<'_>) -> String {
    let external_url = external_url(context);
    let path = context.config.mail.paths.get(parts.path_of);
    let page = confirm_page(&context.account_url, parts.redirect_to);
    render(&external_url, path.map(String::as_str), page, parts)
}

/// Where clients reach the service, unless the request came through a host that links may name.
pub(super) fn external_url(context: &Context) -> String {
    let hosts = &context.config.mail.external_hosts;
    let through = context.forwarded_host.as_ref();
    match through.filter(|host| hosts.contains(host)) {
        Some(host) => on_host(&context.external_url, host),
        None => context.external_url.clone(),
    }
}

/// The same path on another host. Only this machine may be named without TLS.
fn on_host(external_url: &str, host: &str) -> String {
    let Ok(url) = Url::parse(external_url) else {
        return external_url.to_owned();
    };
    let scheme = match host == "localhost" && url.scheme() == "http" {
        true => "http",
        false => "https",
    };
    format!("{scheme}://{host}{}", url.path().trim_end_matches('/'))
}

/// The page of the account pages that asks before it uses a token up, if that is the target:
/// mail scanners open links, but press no buttons (client contract U5).
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

/// A path of the settings begins at the host's root.
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

/// Targets with any of these are not encoded yet; others are taken to be.
fn redirect(target: &str) -> String {
    match target.contains(['&', '=', '#']) {
        true => encoded(target),
        false => target.to_owned(),
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
