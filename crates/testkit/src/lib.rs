//! What integration tests need: a real PostgreSQL, a database of its own for every test, a project on
//! it, and requests to a service of that project.
//!
//! Each test process starts one server in a folder of its own, in memory where there is enough; it
//! stops with the process. Databases are cloned from a template that has all roles and system
//! schemas, which takes about a tenth of a second.
//!
//! `PLINTH_TEST_BIN_DIR` chooses the PostgreSQL to test with; otherwise the one that `plinth`
//! itself would run.

mod call;
mod clock;
mod database;
mod folder;
mod gateway;
mod keys;
mod listener;
mod logins;
mod metrics;
mod options;
mod prepared;
mod project;
mod remote;
mod reply;
mod requests;
mod server;
mod sql;
mod template;
mod traces;

use plinth_db::migrate::MigrationSet;

pub use call::Call;
pub use clock::{TEST_TIMEOUT, now, until, until_some};
pub use database::TestDatabase;
pub use folder::folder_with_space;
pub use gateway::behind_gateway;
pub use keys::{
    ANN, BOB, PUBLISHABLE_KEY, SECRET, SECRET_KEY, claims, keyset, project_keys, sign, user_token,
};
pub use listener::{Listener, bind_loopback};
pub use logins::ProjectLogins;
pub use metrics::RecordedMetrics;
pub use options::server_options;
pub use project::{ProjectBuilder, load_settings};
pub use remote::{ReceivedRequest, Remote};
pub use reply::Reply;
pub use requests::Requests;
pub use server::TestServer;
pub use sql::Sql;
pub use traces::{Traces, assert_no_secret};

/// The system schemas of every project, in the order in which they are installed.
pub fn system_schemas() -> Vec<MigrationSet> {
    vec![
        plinth_project::schema::MIGRATIONS,
        plinth_auth::schema::MIGRATIONS,
        plinth_storage::schema::MIGRATIONS,
        plinth_realtime::schema::MIGRATIONS,
        plinth_rest::schema::MIGRATIONS,
        plinth_catalog::schema::MIGRATIONS,
    ]
}
