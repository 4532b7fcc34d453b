//! `db-uri` as in libpq: missing parts come from the `PG*` variables.

use std::{path::Path, time::Duration};

use plinth_db::Target;
use plinth_token::Secret;
use tokio::sync::watch;

use crate::failure::{Failure, Kind, Outcome};

/// Options of a connection string and the variables that they default to.
const VARIABLES: [(&str, &str); 6] = [
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
];

/// Default socket folders of distributions and of PostgreSQL itself.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// How often the connection is checked.
const LOSS_CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn target(db_uri: &Secret) -> Outcome<Target> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let completed = complete(db_uri.expose(), variable);
    Target::from_url(&completed).map_err(|error| Failure::usage(format!("db-uri: {error}")))
}

/// Waits until the database is lost while `db-pool-automatic-recovery` is off.
pub(super) async fn wait_for_loss(target: Target, mut recovers: watch::Receiver<bool>) -> Failure {
    loop {
        // The sender lives as long as the process.
        _ = recovers.wait_for(|recovers| !recovers).await;
        tokio::select! {
            () = disconnected(&target) => {
                return Failure::new(Kind::Failure, "the connection to the database was lost")
                    .next_step("db-pool-automatic-recovery is off, so there is no retry.");
            }
            _ = recovers.wait_for(|recovers| *recovers) => {}
        }
    }
}

async fn disconnected(target: &Target) {
    let Ok(client) = target.connect().await else {
        return;
    };
    while !client.is_closed() {
        tokio::time::sleep(LOSS_CHECK_INTERVAL).await;
    }
}

fn complete(uri: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let Ok(parsed) = uri.parse::<tokio_postgres::Config>() else {
        return uri.to_owned();
    };
    let is_missing = |option: &str| match option {
        "host" => parsed.get_hosts().is_empty() && parsed.get_hostaddrs().is_empty(),
        "port" => parsed.get_ports().is_empty(),
        "user" => parsed.get_user().is_none(),
        "password" => parsed.get_password().is_none(),
        "dbname" => parsed.get_dbname().is_none(),
        _ => !uri.contains("sslmode="),
    };
    let mut completed = uri.to_owned();
    for (option, name) in VARIABLES {
        if !is_missing(option) {
            continue;
        }
        let value = variable(name);
        let value = value.or_else(|| (option == "host").then(default_host));
        if let Some(value) = value {
            add_option(&mut completed, option, &value);
        }
    }
    completed
}

fn default_host() -> String {
    let is_there = |folder: &&str| Path::new(folder).join(".s.PGSQL.5432").exists();
    let folder = SOCKET_FOLDERS.into_iter().find(is_there);
    folder.unwrap_or("localhost").to_owned()
}

/// Adds an option in the syntax of the connection string: URI or key/value.
fn add_option(uri: &mut String, option: &str, value: &str) {
    if !uri.starts_with("postgres://") && !uri.starts_with("postgresql://") {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        uri.push_str(&format!(" {option}='{value}'"));
        return;
    }
    let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    // In a URI a space is not written as a plus.
    let encoded = encoded.replace('+', "%20");
    let has_options = uri.rsplit('@').next().unwrap_or(uri).contains('?');
    let separator = if has_options { '&' } else { '?' };
    uri.push_str(&format!("{separator}{option}={encoded}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: &str, variables: &[(&str, &str)], expected: &str) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let completed = complete(uri, variable);
        assert_eq!(completed, expected);
        completed
            .parse::<tokio_postgres::Config>()
            .expect("the driver takes it");
    }

    #[test]
    fn missing_options_come_from_the_environment() {
        check(
            "postgresql://",
            &[("PGHOST", "/run/pg sock"), ("PGUSER", "a@b")],
            "postgresql://?host=%2Frun%2Fpg%20sock&user=a%40b",
        );
        check(
            "postgres://u:p?w@h/db",
            &[("PGUSER", "x"), ("PGSSLMODE", "disable")],
            "postgres://u:p?w@h/db?sslmode=disable",
        );
        check(
            "host=h dbname=d",
            &[("PGPASSWORD", "it's"), ("PGDATABASE", "x")],
            "host=h dbname=d password='it\\'s'",
        );
        check(
            "postgresql://u@/db?host=/tmp/x",
            &[("PGHOST", "other")],
            "postgresql://u@/db?host=/tmp/x",
        );
    }

    #[test]
    fn an_invalid_uri_is_left_to_the_driver() {
        assert_eq!(complete("tmp_db", |_| None), "tmp_db");
    }
}
