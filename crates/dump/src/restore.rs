//! Makes a database from a snapshot of another one, rows streaming from one to the other.
//!
//! The administrating role makes the objects. It never runs a function of the user's: rows go in
//! through a login without rights of its own (`loader`), since checks, domains and generated
//! columns call whatever their author wrote. Indexes and materialized views are computed by
//! Postgres in the name of their owners, and triggers come only after the rows.

use futures_util::{SinkExt, StreamExt, pin_mut};
use plinth_db::{Target, describe};
use tokio_postgres::Client;

use crate::{Dump, DumpError, Section, SequenceValue, Snapshot, Statement, TableData, session};

/// Where a dump goes.
pub struct Restoration<'a> {
    /// A superuser on the new database.
    pub admin: &'a Target,
    /// Who takes rows in: a login on the new database that may write every table and nothing
    /// more (`pg_write_all_data`, `pg_read_all_data`).
    pub loader: &'a Target,
    /// Is told how far it got.
    pub progress: &'a (dyn Fn(Progress<'_>) + Send + Sync),
}

/// How far a restore got, counted in steps of about equal weight to a person.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Tables whose rows are there.
    pub done: usize,
    /// Tables in all.
    pub total: usize,
    /// What is under way.
    pub message: &'a str,
}

/// Makes everything that the dump names in a database that was just made from `template0`.
pub async fn restore(
    snapshot: &Snapshot,
    dump: &Dump,
    restoration: Restoration<'_>,
) -> Result<(), DumpError> {
    let admin = restoration.admin.connect().await?;
    admin.batch_execute(session::COMMON).await?;
    admin.batch_execute(session::WRITING).await?;
    let total = dump.tables.len();
    let tell = |done, message: &str| {
        (restoration.progress)(Progress {
            done,
            total,
            message,
        });
    };

    tell(0, "making tables");
    run(&admin, &dump.statements, Section::PreData).await?;
    load(snapshot, dump, &admin, restoration.loader, tell).await?;
    tell(total, "making indexes and constraints");
    run(&admin, &dump.statements, Section::PostData).await?;
    admin.batch_execute("analyze").await?;
    Ok(())
}

async fn run(admin: &Client, statements: &[Statement], section: Section) -> Result<(), DumpError> {
    for statement in statements.iter().filter(|s| s.section == section) {
        admin
            .batch_execute(&statement.sql)
            .await
            .map_err(|error| DumpError::Statement {
                kind: statement.kind,
                name: statement.name.clone(),
                reason: describe(&error),
            })?;
    }
    Ok(())
}

async fn load(
    snapshot: &Snapshot,
    dump: &Dump,
    admin: &Client,
    loader: &Target,
    tell: impl Fn(usize, &str),
) -> Result<(), DumpError> {
    let loader = loader.connect().await?;
    loader.batch_execute(session::COMMON).await?;
    // A check may call a function that finds things as sessions of this database do.
    if let Some(path) = search_path(dump) {
        let sql = "select pg_catalog.set_config('search_path', $1, false)";
        loader.execute(sql, &[&path]).await?;
    }
    loader
        .batch_execute("set synchronous_commit = off; set row_security = on")
        .await?;
    for (done, table) in dump.tables.iter().enumerate() {
        tell(done, &table.name);
        let into = if table.is_superusers { admin } else { &loader };
        copy_rows(snapshot, table, into).await?;
    }
    drop(loader);
    for sequences in dump.sequences.chunks(100) {
        let sql: String = sequences.iter().map(SequenceValue::sql).collect();
        admin.batch_execute(&sql).await?;
    }
    copy_large_objects(snapshot, dump, admin).await
}

fn search_path(dump: &Dump) -> Option<&str> {
    let is_path =
        |setting: &&crate::Setting| setting.role.is_none() && setting.name == "search_path";
    let found = dump.settings.iter().find(is_path);
    found.map(|setting| setting.value.as_str())
}

/// Rows stream from one server process to the other; what is under way fits into a few buffers.
async fn copy_rows(snapshot: &Snapshot, table: &TableData, into: &Client) -> Result<(), DumpError> {
    let failed = |error: tokio_postgres::Error| DumpError::rows(&table.name, &error);
    let rows = snapshot.rows(table).await?;
    let sink = into
        .copy_in::<_, bytes::Bytes>(&table.copy_in(snapshot.encoding()))
        .await
        .map_err(failed)?;
    pin_mut!(rows, sink);
    let mut buffer = bytes::BytesMut::with_capacity(2 * FLUSH);
    while let Some(row) = rows.next().await {
        buffer.extend_from_slice(&row.map_err(failed)?);
        if buffer.len() >= FLUSH {
            sink.feed(buffer.split().freeze()).await.map_err(failed)?;
        }
    }
    if !buffer.is_empty() {
        sink.feed(buffer.freeze()).await.map_err(failed)?;
    }
    sink.finish().await.map_err(failed)?;
    Ok(())
}

/// Rows arrive one by one and leave in parts of this size.
const FLUSH: usize = 64 << 10;

async fn copy_large_objects(
    snapshot: &Snapshot,
    dump: &Dump,
    admin: &Client,
) -> Result<(), DumpError> {
    let sql = "select pg_catalog.lo_put($1, $2, $3)";
    for &object in &dump.large_objects {
        let mut offset = 0_i64;
        loop {
            let part = snapshot.part(object, offset).await?;
            if part.is_empty() {
                break;
            }
            admin.execute(sql, &[&object.id, &offset, &part]).await?;
            offset += part.len() as i64;
        }
    }
    Ok(())
}
