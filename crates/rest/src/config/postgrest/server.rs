//! Settings of the process: database, listen addresses, log.

use std::{fmt, path::PathBuf, time::Duration};

use http::StatusCode;
use plinth_token::Secret;

use super::super::options::{Given, Options};

const DEFAULT_PORT: u16 = 3000;
const DEFAULT_HOST: &str = "!4";
const DEFAULT_MODE: u32 = 0o660;

/// Settings of the process. Only those of the log can be reloaded.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// `db-uri`: a URL or `name=value` pairs; missing parts come from the `PG*` variables.
    pub db_uri: Secret,
    /// `db-pool`
    pub pool_size: usize,
    /// `db-pool-acquisition-timeout`
    pub pool_acquisition_timeout: Duration,
    /// `db-pool-max-lifetime`
    pub pool_max_lifetime: Duration,
    /// `db-pool-max-idletime`
    pub pool_max_idletime: Duration,
    /// `db-pool-automatic-recovery`; without it the process exits when the database is lost.
    pub pool_automatic_recovery: bool,
    /// `server-host`; may be one of PostgREST's special values.
    pub host: String,
    /// `server-port`
    pub port: u16,
    /// Where the API listens: host and port, or a Unix socket.
    pub api: ListenAddress,
    /// Whether several processes may share the port. `server-reuseport`
    pub reuse_port: bool,
    /// Where health and metrics are served.
    pub admin: Option<ListenAddress>,
    /// `log-level`
    pub log_level: LogLevel,
    /// `log-query`
    pub log_query: bool,
}

/// What a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A host, which may be one of `*`, `*4`, `!4`, `*6`, `!6`, and a port.
    Tcp {
        /// As configured.
        host: String,
        /// 0 for any free port.
        port: u16,
    },
    /// A Unix socket.
    Unix(UnixSocket),
}

/// A Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// An existing file is replaced.
    pub path: PathBuf,
    /// The file mode.
    pub mode: u32,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// No requests.
    Crit,
    /// Requests with a server error.
    Error,
    /// Requests with any error.
    Warn,
    /// All requests.
    Info,
    /// All requests, and background work.
    Debug,
}

const LOG_LEVELS: &[(&str, LogLevel)] = &[
    ("crit", LogLevel::Crit),
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
];

impl LogLevel {
    /// Whether a request with this status is logged.
    pub fn logs(self, status: StatusCode) -> bool {
        match self {
            Self::Crit => false,
            Self::Error => status.as_u16() >= 500,
            Self::Warn => status.as_u16() >= 400,
            Self::Info | Self::Debug => true,
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = LOG_LEVELS.iter().find(|(_, level)| level == self);
        f.write_str(found.map_or("", |(word, _)| word))
    }
}

impl ServerConfig {
    pub(super) fn read(options: &mut Options) -> Self {
        let seconds = |given: Given<i64>, default: u64| {
            Duration::from_secs(
                given
                    .map(|s| u64::try_from(s).unwrap_or(0))
                    .unwrap_or(default),
            )
        };
        let pool = options.integer(&["db-pool"]);
        let host = options
            .text(&["server-host"])
            .unwrap_or(DEFAULT_HOST.to_owned());
        let port = port(options, "server-port").unwrap_or(DEFAULT_PORT);
        let admin_host = options.text(&["admin-server-host"]).unwrap_or(host.clone());
        let admin_port = admin_port(options, port);
        let api_socket = socket(options, "server-unix-socket", "server-unix-socket-mode");
        let admin_socket = socket(
            options,
            "admin-server-unix-socket",
            "admin-server-unix-socket-mode",
        );
        Self {
            db_uri: Secret::new(db_uri(options)),
            pool_size: pool
                .map(|size| usize::try_from(size).unwrap_or(1).max(1))
                .unwrap_or(10),
            pool_acquisition_timeout: seconds(
                options.integer(&["db-pool-acquisition-timeout"]),
                10,
            ),
            pool_max_lifetime: seconds(options.integer(&["db-pool-max-lifetime"]), 1800),
            pool_max_idletime: seconds(
                options.integer(&["db-pool-timeout", "db-pool-max-idletime"]),
                30,
            ),
            pool_automatic_recovery: options
                .flag(&["db-pool-automatic-recovery"])
                .unwrap_or(true),
            api: match api_socket {
                Some(socket) => ListenAddress::Unix(socket),
                None => ListenAddress::Tcp {
                    host: host.clone(),
                    port,
                },
            },
            host,
            port,
            reuse_port: options.flag(&["server-reuseport"]).unwrap_or(false),
            admin: admin_socket
                .map(ListenAddress::Unix)
                .or(admin_port.map(|port| ListenAddress::Tcp {
                    host: admin_host,
                    port,
                })),
            log_level: options
                .choice(&["log-level"], LOG_LEVELS)
                .unwrap_or(LogLevel::Error),
            log_query: options.flag(&["log-query"]).unwrap_or(false),
        }
    }
}

/// A value that starts with `@` names a file.
fn db_uri(options: &mut Options) -> String {
    let given = options
        .text(&["db-uri"])
        .unwrap_or("postgresql://".to_owned());
    let Some(path) = given.strip_prefix('@') else {
        return given;
    };
    match std::fs::read_to_string(path) {
        Ok(content) => content.trim().to_owned(),
        Err(error) => {
            let reason = format!("the file {path} cannot be read: {error}");
            options.reject(&["db-uri"], &reason);
            given
        }
    }
}

fn port(options: &mut Options, name: &str) -> Given<u16> {
    let given = options.integer(&[name]);
    match given {
        Given::Value(number) => match u16::try_from(number) {
            Ok(port) => Given::Value(port),
            Err(_) => {
                let reason = format!("{number} is invalid; expected a port from 0 to 65535");
                options.reject(&[name], &reason);
                Given::Unset
            }
        },
        Given::Absent => Given::Absent,
        Given::Unset => Given::Unset,
    }
}

fn admin_port(options: &mut Options, api_port: u16) -> Option<u16> {
    let admin = port(options, "admin-server-port").optional()?;
    if admin == api_port {
        let reason = format!("{admin} is invalid; expected another port than server-port");
        options.reject(&["admin-server-port"], &reason);
    }
    Some(admin)
}

fn socket(options: &mut Options, path: &str, mode: &str) -> Option<UnixSocket> {
    let mode = options.read(&[mode], file_mode).unwrap_or(DEFAULT_MODE);
    let path = options.text(&[path]).optional()?;
    let path = PathBuf::from(path);
    Some(UnixSocket { path, mode })
}

fn file_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| (0o600..=0o777).contains(mode))
        .ok_or_else(|| "an octal file mode from 600 to 777".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{super::super::options::Value, *};

    fn read(pairs: &[(&str, &str)]) -> Result<ServerConfig, Vec<String>> {
        let mut options = Options::default();
        for (name, text) in pairs {
            options.add(name, name, Value::Text((*text).to_owned()));
        }
        let config = ServerConfig::read(&mut options);
        options.finish().map(|_| config)
    }

    #[test]
    fn nothing_set_is_postgrests_default() {
        let config = read(&[]).expect("defaults");

        assert_eq!(
            config.api,
            ListenAddress::Tcp {
                host: "!4".to_owned(),
                port: 3000
            }
        );
        assert_eq!(config.admin, None);
        assert_eq!(config.pool_size, 10);
        assert_eq!(config.pool_max_idletime, Duration::from_secs(30));
        assert_eq!(config.log_level, LogLevel::Error);
        assert_eq!(config.db_uri.expose(), "postgresql://");
    }

    #[test]
    fn a_socket_goes_before_the_port_and_the_admin_server_takes_over_the_host() {
        let config = read(&[
            ("server-host", "127.0.0.1"),
            ("server-unix-socket", "/tmp/api.sock"),
            ("server-unix-socket-mode", "777"),
            ("admin-server-port", "3001"),
            ("db-pool-timeout", "5"),
        ])
        .expect("good values");

        assert_eq!(
            config.api,
            ListenAddress::Unix(UnixSocket {
                path: "/tmp/api.sock".into(),
                mode: 0o777
            })
        );
        assert_eq!(
            config.admin,
            Some(ListenAddress::Tcp {
                host: "127.0.0.1".to_owned(),
                port: 3001
            })
        );
        assert_eq!(config.pool_max_idletime, Duration::from_secs(5));
    }

    #[test]
    fn impossible_values_are_reported() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            let problems = read(pairs).expect_err("a mistake");
            assert!(problems[0].contains(expected), "{problems:?}");
        };

        for mode in ["800", "599", "1000", "rw"] {
            check(&[("server-unix-socket-mode", mode)], "600 to 777");
        }
        check(&[("server-port", "70000")], "a port from 0 to 65535");
        check(&[("admin-server-port", "3000")], "than server-port");
        check(&[("log-level", "never")], "crit, error, warn, info, debug");
        check(&[("db-uri", "@/no/such")], "/no/such cannot be read");
    }

    #[test]
    fn levels_choose_requests_by_their_status() {
        let check = |level: LogLevel, expected: [bool; 3]| {
            let logs = [200, 404, 500]
                .map(|code| level.logs(StatusCode::from_u16(code).expect("a status")));
            assert_eq!(logs, expected, "{level}");
        };

        check(LogLevel::Crit, [false, false, false]);
        check(LogLevel::Error, [false, false, true]);
        check(LogLevel::Warn, [false, true, true]);
        check(LogLevel::Info, [true, true, true]);
    }
}
