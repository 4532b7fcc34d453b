//! A server's folder with the template database, made once per run of all tests.
//!
//! `initdb` and the system schemas take seconds of processor time, and a run has dozens of test
//! processes. `cargo xtask test` names a folder in `PLINTH_TEST_SHARED_DIR`: the first process makes
//! the server's folder there, and all of them copy it. Without the variable each makes its own.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::Duration,
};

use plinth_postgres::Server;

use crate::{options, template};

const SHARED_DIR: &str = "PLINTH_TEST_SHARED_DIR";
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Puts the folder at `state_dir`, if there is a shared one.
pub(crate) async fn put_at(state_dir: &Path) {
    let Some(shared) = std::env::var_os(SHARED_DIR) else {
        return;
    };
    let prepared = Path::new(&shared).join(format!("postgres{}", suffix()));
    {
        let lock = File::create(prepared.with_extension("lock")).expect("the shared folder exists");
        // Blocks, for the seconds that another process needs. Released when the file is closed.
        lock.lock().expect("the shared folder can be locked");
        if !prepared.exists() {
            make(&prepared).await;
        }
    }
    let mut copy = Command::new("cp");
    copy.arg("-a").args([&prepared, state_dir]);
    let copied = copy.status().expect("cp runs").success();
    assert!(copied, "{} is not copied", prepared.display());
}

/// One folder per PostgreSQL.
fn suffix() -> String {
    let folder = options::bin_dir().unwrap_or_default();
    folder.to_string_lossy().replace('/', "-")
}

async fn make(prepared: &Path) {
    let unfinished = prepared.with_extension("unfinished");
    // Of a process that was killed.
    _ = fs::remove_dir_all(&unfinished);
    let server = Server::start(options::server_options(unfinished.clone()), |_| {})
        .await
        .expect("PostgreSQL for tests");
    template::make(&options::admin(server.connection())).await;
    server.stop(STOP_TIMEOUT).await;
    fs::rename(&unfinished, prepared).expect("the folder can be renamed");
}
