//! Checks of recipients (auth contract §7.3).

use super::dns::{MailRouting, Resolver};
use crate::{AuthError, config::MailConfig};

/// Addresses that users type to get past a form.
const PLACEHOLDER_ADDRESSES: &[&str] = &[
    "test@gmail.com",
    "example@gmail.com",
    "someone@gmail.com",
    "test@email.com",
];

/// Domains that accept no mail: reserved ones, and frequent typos.
const UNDELIVERABLE_DOMAINS: &[&str] = &[
    "test",
    "example",
    "invalid",
    "local",
    "localhost",
    "test.com",
    "example.com",
    "example.net",
    "example.org",
    "gamil.com",
    "gamai.com",
    "anonymous.com",
    "email.com",
];

const UNDELIVERABLE_SUFFIXES: &[&str] = &[".test", ".example", ".invalid", ".local", ".localhost"];

/// The largest providers, which are not looked up.
const KNOWN_DOMAINS: &[&str] = &[
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "outlook.com",
    "icloud.com",
    "aol.com",
    "live.com",
    "msn.com",
    "me.com",
    "mail.ru",
];

const MIN_GMAIL_NAME_CHARS: usize = 6;

/// Rejects addresses that are not in the project's list, if it has one; a `+label` is ignored.
pub(super) fn check_authorized(config: &MailConfig, address: &str) -> Result<(), AuthError> {
    let allowed = &config.authorized_addresses;
    let bare = without_label(address);
    let is_allowed =
        allowed.is_empty() || allowed.iter().any(|one| one.eq_ignore_ascii_case(&bare));
    if is_allowed {
        Ok(())
    } else {
        Err(AuthError::email_address_not_authorized(address))
    }
}

/// Rejects undeliverable addresses, where the project enables that.
pub(super) async fn check_reachable(config: &MailConfig, address: &str) -> Result<(), AuthError> {
    if !config.is_validation_extended {
        return Ok(());
    }
    let resolver = Resolver::from_system().await;
    check_with(&resolver, config, address).await
}

async fn check_with(
    resolver: &Resolver,
    config: &MailConfig,
    address: &str,
) -> Result<(), AuthError> {
    let is_reachable = is_plausible(address) && accepts_mail(resolver, config, address).await;
    if is_reachable {
        Ok(())
    } else {
        Err(AuthError::email_address_invalid(address))
    }
}

/// Whether the domain has a mail server that the project does not block. If no name server
/// responds, the address is accepted.
async fn accepts_mail(resolver: &Resolver, config: &MailConfig, address: &str) -> bool {
    let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
    if KNOWN_DOMAINS.contains(&domain) {
        return true;
    }
    match resolver.find_mail_hosts(domain).await {
        MailRouting::Hosts(hosts) => !hosts.iter().any(|host| is_blocked(config, host)),
        MailRouting::NoHost => false,
        MailRouting::Unknown => true,
    }
}

fn is_blocked(config: &MailConfig, host: &str) -> bool {
    let mut blocked = config.blocked_mail_servers.iter();
    blocked.any(|name| name.trim_end_matches('.').eq_ignore_ascii_case(host))
}

fn without_label(address: &str) -> String {
    match address.split_once('@') {
        Some((local, domain)) => {
            let name = local.split('+').next().unwrap_or(local);
            format!("{name}@{domain}")
        }
        None => address.to_owned(),
    }
}

/// The checks without DNS.
fn is_plausible(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is_undeliverable = !domain.contains('.')
        || UNDELIVERABLE_DOMAINS.contains(&domain)
        || UNDELIVERABLE_SUFFIXES
            .iter()
            .any(|ending| domain.ends_with(ending));
    let is_too_short = domain == "gmail.com" && local.len() < MIN_GMAIL_NAME_CHARS;
    !PLACEHOLDER_ADDRESSES.contains(&address) && !is_undeliverable && !is_too_short
}

#[cfg(test)]
mod tests {
    use plinth_project::FromSettings;
    use plinth_settings::Loader;

    use super::*;
    use crate::{AuthConfig, error::Code, mail::dns::tests::server};

    /// Checks an address whose domain has the mail server `mx.test`.
    async fn check(blocked: &str) -> Result<(), AuthError> {
        let name = "plinth.auth.email.blocked_mail_servers";
        let loaded = Loader::new().command_line(name, blocked).load();
        let settings = loaded.expect("good settings").settings;
        let config = AuthConfig::from_settings(&settings).mail;
        let resolver = server(vec![(0, Some(b"\x00\x0a\x02mx\x04test\x00"))]).await;
        check_with(&resolver, &config, "ann@mail.dev").await
    }

    #[tokio::test]
    async fn addresses_of_blocked_mail_servers_are_rejected() {
        for blocked in ["mx.test", "other.test,MX.test."] {
            let rejected = check(blocked).await.expect_err(blocked);
            assert_eq!(rejected.status(), 400);
            assert_eq!(rejected.code(), Code::EmailAddressInvalid);
        }
        for blocked in ["", "test", "x.test,mx.test.other"] {
            assert!(check(blocked).await.is_ok(), "{blocked}");
        }
    }

    #[test]
    fn labels_do_not_count() {
        assert_eq!(without_label("ann+a+b@mail.dev"), "ann@mail.dev");
        assert_eq!(without_label("ann@mail.dev"), "ann@mail.dev");
    }

    #[test]
    fn addresses_that_cannot_work_are_known() {
        for address in ["ann@mail.dev", "longer@gmail.com", "a@b.co"] {
            assert!(is_plausible(address), "{address}");
        }
        for address in [
            "a@example.com",
            "a@x.test",
            "a@localhost",
            "a@company",
            "short@gmail.com",
            "test@email.com",
        ] {
            assert!(!is_plausible(address), "{address}");
        }
    }
}
