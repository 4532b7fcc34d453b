//! Which PostgreSQL tests run on, and how.

use std::path::PathBuf;

use plinth_db::Target;
use plinth_postgres::{Connection, Options, binaries::Search};

/// Selects the PostgreSQL to test with.
const BIN_DIR: &str = "PLINTH_TEST_BIN_DIR";

/// The superuser on the maintenance database.
pub(crate) fn admin(connection: &Connection) -> Target {
    let Connection {
        socket_dir,
        port,
        superuser,
        password,
    } = connection;
    Target::unix(socket_dir, *port, superuser, password, "template1")
}

/// Options of a test server, for a test that needs one of its own.
pub fn server_options(state_dir: PathBuf) -> Options {
    let mut options = Options::new(state_dir);
    options.binaries = search();
    options.settings = [
        // Durability is not needed.
        ("fsync", "off"),
        // Autovacuum would visit hundreds of short-lived databases.
        ("autovacuum", "off"),
        ("max_connections", "300"),
        // No such standby exists: a test that sets `synchronous_commit = on` gets a commit that is
        // written but never becomes visible.
        ("synchronous_standby_names", "nobody"),
        ("synchronous_commit", "local"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    options
}

/// The programs' folder where the environment names one.
pub(crate) fn bin_dir() -> Option<PathBuf> {
    std::env::var_os(BIN_DIR).map(PathBuf::from)
}

/// The workspace of the running tests; with a shared target directory it may differ from the one in which
/// this file was compiled.
fn search() -> Search {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    Search {
        bin_dir: bin_dir(),
        runtime_dirs: vec![package.join("../../runtime"), package.join("../runtime")],
    }
}
