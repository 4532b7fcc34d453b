//! Unsupported objects, and isolation from concurrent changes.

mod support;

use std::time::Duration;

use plinth_dump::{DumpError, Snapshot};
use support::Source;

async fn unsupported_objects(source: &Source) -> String {
    let snapshot = Snapshot::open(source.database.target())
        .await
        .expect("a snapshot");
    match snapshot.read().await {
        Err(error @ DumpError::Unsupported(_)) => error.to_string(),
        other => panic!(
            "not rejected: {:?}",
            other.map(|dump| dump.statements.len())
        ),
    }
}

#[tokio::test]
async fn everything_that_would_be_lost_is_named_at_once() {
    let source = Source::new().await;
    source
        .run(
            "create type public.shell;
             create function public.base_in(cstring) returns public.\"Base\" language internal strict immutable as 'int4in';
             create function public.base_out(public.\"Base\") returns cstring language internal strict immutable as 'int4out';
             create type public.\"Base\" (input = public.base_in, output = public.base_out, like = int4);
             create text search template public.tmpl (lexize = dsimple_lexize, init = dsimple_init);
             create language own handler plpgsql_call_handler;",
        )
        .await;

    let text = unsupported_objects(&source).await;

    for part in [
        "public.shell",
        "public.\"Base\"",
        "template tmpl",
        "language own",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

#[tokio::test]
async fn a_foreign_key_through_a_cast_of_ones_own_is_rejected() {
    let source = Source::new().await;
    source
        .run(
            "create type public.word as enum ('a', 'b');
             create function public.spell(public.word) returns int immutable language plpgsql as 'begin return length($1::text); end';
             create cast (public.word as int) with function public.spell(public.word) as implicit;
             create table public.words (word int primary key);
             create table public.uses (word public.word references public.words);",
        )
        .await;

    let text = unsupported_objects(&source).await;

    assert!(text.contains("uses_word_fkey"), "{text}");
}

#[tokio::test]
async fn views_that_need_each_other_are_rejected_by_name() {
    let source = Source::new().await;
    source
        .run(
            "create view public.egg as select 1 as id;
             create view public.hen as select id from public.egg;
             create or replace view public.egg as select id from public.hen;",
        )
        .await;

    let text = unsupported_objects(&source).await;

    assert!(text.contains("egg") && text.contains("hen"), "{text}");
}

#[tokio::test]
async fn objects_of_extensions_are_not_rejected_but_their_configuration_travels() {
    let source = Source::new().await;
    source
        .run(
            "create extension if not exists hstore schema extensions;
             create table public.config (name text);
             insert into public.config values ('of the user');
             alter extension hstore add table public.config;
             update pg_extension set extconfig = array['public.config'::regclass::oid], extcondition = array['where name <> ''built in''']
             where extname = 'hstore';
             insert into public.config values ('built in');",
        )
        .await;

    let (_snapshot, dump) = source.snapshot().await;

    let table = dump
        .tables
        .iter()
        .find(|table| table.name == "public.config");
    let table = table.expect("the table's rows are part of it");
    assert_eq!(table.condition.as_deref(), Some("where name <> 'built in'"));
    let made = dump
        .statements
        .iter()
        .any(|s| s.sql.contains("create table public.config"));
    assert!(!made, "the table itself comes with the extension");
}

#[tokio::test]
async fn rows_of_one_moment_arrive_whatever_is_written_meanwhile() {
    let source = Source::new().await;
    source
        .run("create table public.t (id int); insert into public.t select generate_series(1, 1000)")
        .await;
    let (snapshot, dump) = source.snapshot().await;
    source
        .run("delete from public.t; insert into public.t values (-1)")
        .await;

    let copy = support::Copy::make(&snapshot, &dump).await.expect("a copy");

    let row = copy.admin().await;
    let row = row
        .query_one("select count(*), min(id) from public.t", &[])
        .await
        .expect("a row");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i32>(1)), (1000, 1));
    assert!(
        copy.messages.iter().any(|line| line.contains("public.t")),
        "{:?}",
        copy.messages
    );
}

#[tokio::test]
async fn tables_keep_their_shape_while_they_are_read() {
    let source = Source::new().await;
    source.run("create table public.t (id int)").await;
    let (snapshot, _dump) = source.snapshot().await;
    let other = source.database.admin().await;

    other
        .batch_execute("set lock_timeout = '100ms'")
        .await
        .expect("a setting");
    let altered = other
        .batch_execute("alter table public.t add column x int")
        .await;
    let written = other.batch_execute("insert into public.t values (1)").await;

    assert!(altered.is_err(), "no change of its shape");
    assert!(written.is_ok(), "but rows");
    drop(snapshot);
    let later = async {
        while other
            .batch_execute("alter table public.t add column x int")
            .await
            .is_err()
        {}
    };
    tokio::time::timeout(Duration::from_secs(10), later)
        .await
        .expect("once it is over");
}
