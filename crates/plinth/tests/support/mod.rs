//! What the tests of the whole program share: a folder, a server in it, and ways to look at both.
//!
//! Everything goes through the real executable and real sockets. Whatever a test starts ends with
//! it, also when it fails; then the server's own words are shown.

mod auth_server;
mod channel;
mod ended;
mod external;
mod file_store;
mod folder;
mod http;
mod instance;
mod mount;
mod prepared;
mod process;
mod s3;
mod sql;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

pub(crate) use auth_server::{AuthServer, auth_variables, gotrue_program, serve_auth};
pub(crate) use channel::Channel;
pub(crate) use ended::{Ended, plinth, run_to_end};
pub(crate) use external::ExternalPostgres;
pub(crate) use file_store::FileStore;
pub(crate) use folder::Folder;
pub(crate) use http::{Http, Response};
pub(crate) use instance::Instance;
pub(crate) use mount::Mount;
pub(crate) use process::{is_alive, kill, postgres_processes, wait_for_exit};
pub(crate) use s3::S3;
pub(crate) use sql::{Session, psql, rows, try_rows, value};

/// Waits for something that must come true, looking every few milliseconds.
pub(crate) fn eventually<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says which program is missing, without which a test proves nothing. Fails where all are installed,
/// as `cargo xtask test` says.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    let must_run = std::env::var_os("PLINTH_TESTS_MUST_RUN").is_some();
    assert!(!must_run, "a test must not be skipped here: {reason}");
    does_not_apply(reason);
}

/// Says why a test proves nothing on this machine, where no package would change that.
pub(crate) fn does_not_apply(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// A free port: below the kernel's ephemeral ports, and another one at each call.
pub(crate) fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(131);
    let port = || 20_000 + first.wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed)) % 12_000;
    let ports = std::iter::repeat_with(port).take(1_000);
    let mut ports = ports.filter_map(|port| u16::try_from(port).ok());
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}
