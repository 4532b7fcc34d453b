//! Whom the project may write to (auth contract §7.3).

use super::dns::{Mail, Resolver};
use crate::{AuthError, config::MailConfig, error::Code};

/// Addresses that people type to get past a form.
const JOKES: &[&str] = &[
    "test@gmail.com",
    "example@gmail.com",
    "someone@gmail.com",
    "test@email.com",
];

/// Domains that nobody gets mail at: reserved ones, and frequent slips.
const DEAD_DOMAINS: &[&str] = &[
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

const DEAD_ENDINGS: &[&str] = &[".test", ".example", ".invalid", ".local", ".localhost"];

/// The largest, which need not be asked for.
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

/// So many characters a name has there at least.
const SHORTEST_GMAIL_NAME: usize = 6;

/// Where only some addresses are written to, it must be one of them; `+label` does not count.
pub(super) fn check_authorized(config: &MailConfig, address: &str) -> Result<(), AuthError> {
    let allowed = &config.authorized_addresses;
    let bare = without_label(address);
    let is_allowed =
        allowed.is_empty() || allowed.iter().any(|one| one.eq_ignore_ascii_case(&bare));
    match is_allowed {
        true => Ok(()),
        false => Err(AuthError::new(
            400,
            Code::EmailAddressNotAuthorized,
            format!("Email address \"{address}\" cannot be used as it is not authorized"),
        )),
    }
}

/// Where the project wants it, addresses that cannot work are refused before anything bounces.
pub(super) async fn check_reachable(config: &MailConfig, address: &str) -> Result<(), AuthError> {
    if !config.is_validation_extended {
        return Ok(());
    }
    let resolver = Resolver::of_this_machine().await;
    check_with(&resolver, config, address).await
}

async fn check_with(
    resolver: &Resolver,
    config: &MailConfig,
    address: &str,
) -> Result<(), AuthError> {
    let is_reachable = is_plausible(address) && gets_mail(resolver, config, address).await;
    match is_reachable {
        true => Ok(()),
        false => Err(AuthError::new(
            400,
            Code::EmailAddressInvalid,
            format!("Email address \"{address}\" is invalid"),
        )),
    }
}

/// Whether the domain exists, and its mail is not taken by somebody whom the project shuns. Where
/// nobody can tell, the address gets the benefit of the doubt.
async fn gets_mail(resolver: &Resolver, config: &MailConfig, address: &str) -> bool {
    let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
    if KNOWN_DOMAINS.contains(&domain) {
        return true;
    }
    match resolver.mail_of(domain).await {
        Mail::Taken(hosts) => !hosts.iter().any(|host| is_blocked(config, host)),
        Mail::Nowhere => false,
        Mail::Unknown => true,
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

/// What can be told without asking anybody.
fn is_plausible(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is_dead = !domain.contains('.')
        || DEAD_DOMAINS.contains(&domain)
        || DEAD_ENDINGS.iter().any(|ending| domain.ends_with(ending));
    let is_too_short = domain == "gmail.com" && local.len() < SHORTEST_GMAIL_NAME;
    !JOKES.contains(&address) && !is_dead && !is_too_short
}

#[cfg(test)]
mod tests {
    use plinth_project::FromSettings;
    use plinth_settings::Loader;

    use super::*;
    use crate::{AuthConfig, mail::dns::tests::server};

    /// What becomes of an address whose domain has the mail server `mx.test`.
    async fn check(blocked: &str) -> Result<(), AuthError> {
        let name = "plinth.auth.email.blocked_mail_servers";
        let loaded = Loader::new().command_line(name, blocked).load();
        let settings = loaded.expect("good settings").settings;
        let config = AuthConfig::from_settings(&settings).mail;
        let resolver = server(vec![(0, Some(b"\x00\x0a\x02mx\x04test\x00"))]).await;
        check_with(&resolver, &config, "ann@mail.dev").await
    }

    #[tokio::test]
    async fn addresses_are_refused_whose_mail_a_shunned_server_takes() {
        for blocked in ["mx.test", "other.test,MX.test."] {
            let refused = check(blocked).await.expect_err(blocked);
            assert_eq!(refused.status(), 400);
            assert_eq!(refused.code(), Code::EmailAddressInvalid);
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
