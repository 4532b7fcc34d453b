//! What integration tests need: a real PostgreSQL, and a database of its own for every test.
//!
//! Each test process starts one server in a folder that nothing else uses, in memory where there is
//! enough; it ends with the process. Databases are cloned from a template that has all roles and
//! system schemas, so that a test's database costs a tenth of a second.
//!
//! `PLINTH_TEST_BIN_DIR` chooses the PostgreSQL to test with; otherwise the one that `plinth`
//! itself would run.

mod database;
mod room;
mod server;
mod traces;

use plinth_db::migrate::MigrationSet;

pub use database::TestDatabase;
pub use room::folder_with_room;
pub use server::{TestServer, server_options};
pub use traces::{Traces, assert_no_secret};

/// The system schemas of every project, in the order in which they are installed.
pub fn system_schemas() -> Vec<MigrationSet> {
    vec![
        plinth_project::schema::MIGRATIONS,
        plinth_auth::schema::MIGRATIONS,
        plinth_storage::schema::MIGRATIONS,
        plinth_realtime::schema::MIGRATIONS,
        plinth_rest::schema::MIGRATIONS,
    ]
}
