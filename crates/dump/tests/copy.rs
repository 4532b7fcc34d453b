//! A copied database equals its source, compared by the catalog and, where a `pg_dump` of the server's
//! version exists, by its output.

mod support;

use support::{Copy, Source, difference, pg_dump};
use tokio_postgres::Client;

/// Every object of the database as a line of text.
async fn catalog(client: &Client) -> String {
    client
        .batch_execute("set search_path = pg_catalog, pg_temp")
        .await
        .expect("a path");
    let rows = client
        .query(include_str!("catalog.sql"), &[])
        .await
        .unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter()
        .map(|row| row.get::<_, Option<String>>(0).unwrap_or_default() + "\n")
        .collect()
}

/// The rows of every table and the values of sequences.
async fn rows(client: &Client) -> String {
    let sql =
        "select format('select %L || coalesce(string_agg(t::text, chr(10) order by t::text), '''')
                              from (select %s from only %s) t', oid::regclass,
                             case relkind when 'S' then 'last_value, is_called' else '*' end,
                             oid::regclass)
               from pg_class
               where oid >= 16384 and relkind in ('r', 'm', 'S') and relpersistence <> 't'
                 and relispopulated
               order by oid::regclass::text";
    let mut text = String::new();
    for row in client.query(sql, &[]).await.expect("tables") {
        let of_one = client.query_one(row.get::<_, &str>(0), &[]).await;
        let of_one = of_one.unwrap_or_else(|error| panic!("{error:?}"));
        text.push_str(of_one.get(0));
        text.push('\n');
    }
    text
}

async fn expect_same(source: &Source, copy: &Copy) {
    let copied = copy.admin().await;
    let (left, right) = (catalog(&source.admin).await, catalog(&copied).await);
    assert!(left == right, "{}", difference(&left, &right));
    let (left, right) = (rows(&source.admin).await, rows(&copied).await);
    assert!(left == right, "{}", difference(&left, &right));
    match pg_dump(source.database.name(), source.version).await {
        Ok(left) => {
            let right = pg_dump(&copy.name, source.version).await.expect("a dump");
            assert!(left == right, "{}", difference(&left, &right));
        }
        Err(reason) => eprintln!("not compared by pg_dump: {reason}"),
    }
}

#[tokio::test]
async fn a_pristine_project_is_copied_exactly() {
    let source = Source::new().await;

    let copy = source.copy().await.expect("a copy");

    expect_same(&source, &copy).await;
}

#[tokio::test]
async fn a_rich_and_odd_database_is_copied_exactly() {
    let source = Source::rich().await;

    let copy = source
        .copy()
        .await
        .unwrap_or_else(|error| panic!("{error}"));

    expect_same(&source, &copy).await;
}

#[tokio::test]
async fn a_copy_of_a_copy_reads_the_same() {
    let source = Source::rich().await;
    let (snapshot, dump) = source.snapshot().await;
    let copy = Copy::make(&snapshot, &dump).await.expect("a copy");

    let again = plinth_dump::Snapshot::open(&copy.target)
        .await
        .expect("a snapshot");
    let again = again.read().await.expect("a dump");

    let text = |dump: &plinth_dump::Dump| -> String {
        let line = |s: &plinth_dump::Statement| format!("-- {} {}\n{}\n", s.kind, s.name, s.sql);
        dump.statements.iter().map(line).collect()
    };
    let (left, right) = (text(&dump), text(&again));
    assert!(left == right, "{}", difference(&left, &right));
    assert_eq!(dump.sequences, again.sequences);
    assert_eq!(dump.large_objects, again.large_objects);
}
