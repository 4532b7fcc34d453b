//! The banner at the end of a start.

use std::io::IsTerminal;

use plinth_platform::Status;
use plinth_settings::{Settings, keys};

const LINES: &[(&str, &str)] = &[
    ("API URL", "API_URL"),
    ("Database URL", "DB_URL"),
    ("Web URL", "STUDIO_URL"),
    ("Publishable key", "PUBLISHABLE_KEY"),
    ("Secret key", "SECRET_KEY"),
    ("anon key", "ANON_KEY"),
    ("service_role key", "SERVICE_ROLE_KEY"),
];

/// How URLs are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlHost {
    /// As they are.
    AsConfigured,
    /// `localhost` instead of an address of this machine, which passkeys cannot be bound to.
    Localhost,
}

impl UrlHost {
    pub(super) fn of(settings: &Settings) -> Self {
        let has_passkeys = settings.get(keys::auth::PASSKEY_ENABLED)
            || settings.get(keys::auth_mfa::WEB_AUTHN_ENROLL_ENABLED);
        if has_passkeys {
            Self::Localhost
        } else {
            Self::AsConfigured
        }
    }

    pub(super) fn show(self, url: &str) -> String {
        if self == Self::Localhost && url.starts_with("http") {
            with_localhost(url)
        } else {
            url.to_owned()
        }
    }
}

/// Secrets are printed to a terminal only, because piped output may be stored.
pub(super) fn print(status: &Status, took: std::time::Duration, host: UrlHost) {
    let is_terminal = std::io::stdout().is_terminal();
    println!(
        "\nPlinth is running (ready in {:.1} s).\n",
        took.as_secs_f64()
    );
    for (title, name) in LINES {
        let value = status.get(name).unwrap_or_default();
        let is_secret = matches!(*name, "SECRET_KEY" | "SERVICE_ROLE_KEY");
        let shown = if is_secret && !is_terminal {
            "(hidden; `plinth status` shows it)".to_owned()
        } else {
            host.show(value)
        };
        println!("  {title:>16}  {shown}");
    }
    println!("\nStop with Ctrl-C or `plinth stop`.");
}

fn with_localhost(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let rest = ["127.0.0.1", "[::1]"]
        .iter()
        .find_map(|address| rest.strip_prefix(address))
        .filter(|rest| rest.is_empty() || rest.starts_with([':', '/']));
    match rest {
        Some(rest) => format!("{scheme}://localhost{rest}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_called_localhost() {
        for (url, expected) in [
            ("http://127.0.0.1:54321", "http://localhost:54321"),
            ("https://[::1]:54321/p/x", "https://localhost:54321/p/x"),
            ("http://127.0.0.1", "http://localhost"),
            ("http://127.0.0.10:54321", "http://127.0.0.10:54321"),
            ("https://api.test:8443", "https://api.test:8443"),
        ] {
            assert_eq!(with_localhost(url), expected);
        }
    }
}
