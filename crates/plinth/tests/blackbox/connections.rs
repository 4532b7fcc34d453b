//! Owners who take every connection that they can get, and what is left for the others.

use std::{path::Path, time::Duration};

use tokio_postgres::{Client, NoTls};

use crate::support::{Folder, Instance, eventually, rows};

/// Sessions that stay open until this is dropped.
pub(crate) struct Sessions {
    runtime: tokio::runtime::Runtime,
    clients: Vec<Client>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime for connections");
        Self {
            runtime,
            clients: Vec::new(),
        }
    }

    /// Opens sessions until one is rejected; returns how many there are and the SQLSTATE.
    pub(crate) fn take_all(&mut self, config: &tokio_postgres::Config) -> (usize, String) {
        let before = self.clients.len();
        loop {
            assert!(self.clients.len() - before < 500, "there is no limit");
            match self.runtime.block_on(config.connect(NoTls)) {
                Ok((client, connection)) => {
                    self.runtime.spawn(connection);
                    self.clients.push(client);
                }
                Err(error) => {
                    let code = error.code().map_or("", |code| code.code()).to_owned();
                    return (self.clients.len() - before, code);
                }
            }
        }
    }
}

pub(crate) fn parse(url: &str) -> tokio_postgres::Config {
    url.parse().expect("a connection string")
}

/// The superuser on the private socket.
fn superuser(state: &Path) -> tokio_postgres::Config {
    let password = std::fs::read_to_string(state.join("database-password")).expect("a password");
    let mut config = tokio_postgres::Config::new();
    config
        .host_path(state.join("run"))
        .port(5432)
        .user("supabase_admin")
        .password(password.trim())
        .dbname("template1");
    config
}

fn expect_served(server: &Instance<'_>, project: &serde_json::Value) {
    let reference = project["PLINTH_REF"].as_str().expect("a ref");
    let key = project["PUBLISHABLE_KEY"].as_str().expect("a key");
    let http = server.http().header("apikey", key);
    http.get(&format!("/p/{reference}/rest/v1/t"))
        .expect_status(200);
    http.get(&format!("/p/{reference}/auth/v1/health"))
        .expect_status(200);
    // A machine under load may miss the timeout of one check.
    eventually(Duration::from_secs(60), "/ready is 200", || {
        (server.http().get("/ready").status == 200).then_some(())
    });
}

#[test]
fn owners_who_take_all_connections_leave_enough_for_the_api() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let projects: Vec<_> = ["one", "two", "three", "four"]
        .iter()
        .map(|name| server.cli_json(&["projects", "create", name]))
        .collect();
    let url = |project: &serde_json::Value| project["DB_URL"].as_str().expect("a URL").to_owned();
    for project in &projects {
        rows(&url(project), "create table t (id int)");
    }
    let mut sessions = Sessions::new();

    let (first, code) = sessions.take_all(&parse(&url(&projects[0])));

    assert_eq!((first, code.as_str()), (20, "53300"), "a fifth of 100");
    expect_served(&server, &projects[1]);
    rows(&url(&projects[1]), "select 1");

    let mut taken = first;
    for project in &projects[1..3] {
        taken += sessions.take_all(&parse(&url(project))).0;
    }

    assert!((40..=60).contains(&taken), "{taken}");
    for project in &projects {
        expect_served(&server, project);
    }
    // What Plinth does for an owner does not count.
    let reference = projects[0]["PLINTH_REF"].as_str().expect("a ref");
    server
        .cli(&["migration", "list", "--ref", reference])
        .expect_success();
}

#[test]
fn readiness_fails_when_no_project_gets_a_connection() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let mut sessions = Sessions::new();

    // Up to the very last connection, the reserved ones included, and those that Plinth closes meanwhile.
    eventually(Duration::from_secs(60), "/ready is 503", || {
        sessions.take_all(&superuser(&folder.state()));
        (server.http().get("/ready").status == 503).then_some(())
    });
    server.http().get("/health").expect_status(200);

    drop(sessions);
    eventually(Duration::from_secs(60), "ready again", || {
        (server.http().get("/ready").status == 200).then_some(())
    });
}
