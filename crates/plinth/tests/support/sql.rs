//! SQL over the wire: with a driver for looking, with psql where psql is the point.

use std::{process::Command, time::Duration};

use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{Ended, run_to_end};

/// Rows as text; the columns of a row are joined by `|`.
pub(crate) fn try_rows(url: &str, sql: &str) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for one query");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls)
            .await
            .map_err(|error| describe(&error))?;
        let driver = tokio::spawn(connection);
        let response = client
            .simple_query(sql)
            .await
            .map_err(|error| describe(&error));
        drop(client);
        _ = driver.await;
        let row = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let cells = (0..row.len()).map(|at| row.get(at).unwrap_or("null"));
                Some(cells.collect::<Vec<_>>().join("|"))
            }
            _ => None,
        };
        Ok(response?.into_iter().filter_map(row).collect())
    })
}

#[track_caller]
pub(crate) fn rows(url: &str, sql: &str) -> Vec<String> {
    try_rows(url, sql).unwrap_or_else(|error| panic!("{error}\nin {sql}"))
}

/// The only value of the only row.
#[track_caller]
pub(crate) fn value(url: &str, sql: &str) -> String {
    let mut rows = rows(url, sql);
    assert_eq!(rows.len(), 1, "{rows:?} from {sql}");
    rows.remove(0)
}

fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{}: {}", error.code().code(), error.message()),
        None => format!("{error:?}"),
    }
}

/// A connection that stays open, and with it whatever it has locked.
pub(crate) struct Session {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime for a connection");
        let connected = runtime.block_on(tokio_postgres::connect(url, NoTls));
        let (client, connection) = connected.expect("a connection");
        runtime.spawn(connection);
        Self { runtime, client }
    }

    #[track_caller]
    pub(crate) fn run(&self, sql: &str) {
        let done = self.runtime.block_on(self.client.batch_execute(sql));
        done.unwrap_or_else(|error| panic!("{}\nin {sql}", describe(&error)));
    }
}

/// psql with this connection string, or `None` where there is none.
pub(crate) fn psql(url: &str, args: &[&str]) -> Option<Ended> {
    if Command::new("psql").arg("--version").output().is_err() {
        return None;
    }
    let mut command = Command::new("psql");
    command
        .args(["-X", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1"])
        .args(args)
        .arg(url);
    Some(run_to_end(&mut command, None, Duration::from_secs(30)))
}
