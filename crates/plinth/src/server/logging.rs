//! The process's own log: text on stderr in development, JSON on stdout in production.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

use super::ServerMode;

/// Sets up the process's own log. `PLINTH_LOG` takes a filter, as in `debug` or `plinth_db=trace`.
pub(super) fn init(mode: ServerMode, is_debug: bool) {
    let default = if is_debug {
        "info,plinth=debug"
    } else {
        "info"
    };
    let filter = EnvFilter::try_from_env("PLINTH_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let registry = tracing_subscriber::registry().with(filter);
    match mode {
        ServerMode::Development => {
            let lines = fmt::layer()
                .with_writer(std::io::stderr)
                .with_ansi(wants_colour())
                .with_target(false)
                .with_timer(fmt::time::uptime())
                .compact();
            registry.with(lines).init();
        }
        ServerMode::Production => {
            registry
                .with(fmt::layer().json().with_writer(std::io::stdout))
                .init();
        }
    }
}

/// Whether to use colours: on a terminal, unless NO_COLOR is set (console contract L4).
pub(super) fn wants_colour() -> bool {
    let is_disabled = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_disabled
}
