//! Imports that are all or nothing.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use plinth_db::{Begin, LocalSettings, Pool, PoolConfig};
use plinth_query::{
    QueryError, Relation,
    import::{ImportProgress, ImportReport, ImportRequest, import},
};
use plinth_testkit::{Sql as _, TestDatabase, until};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::request;

/// Imports a file that arrives in pieces of this size.
pub async fn import_pieces(
    db: &TestDatabase,
    body: Value,
    file: &[u8],
    size: usize,
) -> Result<ImportReport, QueryError> {
    let options: ImportRequest = request(body);
    let relation = relation(db, &options).await;
    let client = db.admin().await;
    let pieces: Vec<Result<Bytes, Infallible>> = file
        .chunks(size)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    let (progress, _seen) = watch::channel(ImportProgress::default());
    let cancel = CancellationToken::new();
    import(
        &client,
        relation.as_ref(),
        &options,
        stream::iter(pieces),
        &progress,
        &cancel,
    )
    .await
}

pub async fn import_text(
    db: &TestDatabase,
    body: Value,
    file: &str,
) -> Result<ImportReport, QueryError> {
    import_pieces(db, body, file.as_bytes(), 7).await
}

async fn relation(db: &TestDatabase, options: &ImportRequest) -> Option<Relation> {
    if options.create {
        return None;
    }
    let pool = Pool::new(db.target().clone(), PoolConfig::default());
    let settings = LocalSettings::default();
    let (mut tx, _) = pool
        .begin(Begin::default(), &settings, &[])
        .await
        .expect("a transaction");
    Some(
        Relation::load(&mut tx, &options.relation)
            .await
            .expect("a table"),
    )
}

/// All rows of a table as one text.
pub async fn dump(db: &TestDatabase, table: &str) -> String {
    let sql =
        format!("select coalesce(string_agg(t::text, ' ' order by t::text), '') from {table} t");
    db.query_one(&sql).await.get(0)
}

fn people(extra: Value) -> Value {
    let mut body = json!({ "relation": { "name": "people" } });
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    body
}

const PEOPLE: &str = "create table people (id int primary key, name text, born date, tags text[])";

#[tokio::test]
async fn every_format_and_encoding_is_read() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let csv = "id,name,born\n1,\"Zoë, \"\"Z\"\"\",2001-02-03\n2,,\n";
    let expected = "(1,\"Zoë, \"\"Z\"\"\",2001-02-03,) (2,,,)";
    for (file, extra) in [
        (csv.as_bytes().to_vec(), json!({})),
        (csv.replace('\n', "\r\n").into_bytes(), json!({})),
        (format!("\u{feff}{csv}").into_bytes(), json!({})),
        (utf16(csv), json!({})),
        (b"id;name;born\n1;\"Zo\xeb, \"\"Z\"\"\";2001-02-03\n2;;\n".to_vec(), json!({})),
        (b"1\tZo\xeb, \"Z\"\t3.2.2001\n2\t\\N\t\\N\n".to_vec(),
         json!({ "format": "tsv", "header": false, "quote": "'", "date_order": "dmy", "columns": [
            { "source": "column_1", "target": "id" }, { "source": "column_2", "target": "name" },
            { "source": "column_3", "target": "born" }] })),
        ("[{\"id\": 1, \"name\": \"Zoë, \\\"Z\\\"\", \"born\": \"2001-02-03\"}, {\"id\": 2}]".as_bytes().to_vec(),
         json!({})),
        ("{\"id\": 1, \"born\": \"2001-02-03\", \"name\": \"Zo\\u00eb, \\\"Z\\\"\"}\n{\"id\": 2, \"name\": null}\n"
            .as_bytes().to_vec(), json!({})),
    ] {
        let db = TestDatabase::create().await;
        db.execute(PEOPLE).await;
        let shown = String::from_utf8_lossy(&file).into_owned();
        let report = import_pieces(&db, people(extra), &file, 5).await;
        let report = report.unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert_eq!((report.rows_read, report.rows_written), (2, 2), "{shown}");
        assert_eq!(dump(&db, "people").await, expected, "{shown}");
    }
}

#[tokio::test]
async fn columns_are_mapped_and_arrays_are_read() {
    let db = TestDatabase::create().await;
    db.execute(PEOPLE).await;
    let body = people(json!({ "columns": [
        { "source": "Number", "target": "id" }, { "source": "labels", "target": "tags" },
    ] }));
    let file = "{\"Number\": \"7\", \"labels\": [\"a b\", null, \"c\\\"\"], \"other\": 1}";
    import_text(&db, body, file).await.expect("imported");
    let tags: Vec<Option<String>> = db
        .query_one("select tags from people where id = 7")
        .await
        .get(0);
    assert_eq!(tags, [Some("a b".to_owned()), None, Some("c\"".to_owned())]);
}

#[tokio::test]
async fn a_bad_file_imports_nothing_and_names_its_line() {
    for (file, line) in [
        ("id,name\n1,a\n2\n", 3),
        ("id,name\n1,a\n\"2\"x,b\n", 3),
        ("id,name\n1,\"a\nb\"\n2,\"open\n", 4),
        ("id,name\n1,a\0b\n", 2),
    ] {
        let db = TestDatabase::create().await;
        db.execute(PEOPLE).await;
        match import_text(&db, people(json!({})), file)
            .await
            .expect_err("refused")
        {
            QueryError::BadFile { line: found, .. } => assert_eq!(found, line, "{file:?}"),
            other => panic!("{file:?}: {other}"),
        }
        assert_eq!(dump(&db, "people").await, "");
    }
    let db = TestDatabase::create().await;
    db.execute(PEOPLE).await;
    let file = b"id,name\n1,a\n2,\xff\n";
    let body = people(json!({ "encoding": "utf-8" }));
    let error = import_pieces(&db, body, file, 100)
        .await
        .expect_err("refused");
    assert!(
        matches!(error, QueryError::BadFile { line: 3, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_bad_value_imports_nothing_and_names_line_and_column() {
    let db = TestDatabase::create().await;
    db.execute(PEOPLE).await;
    let file = "id,name,born\n1,\"two\nlines\",\n2,b,tomorrow morning\n";
    match import_text(&db, people(json!({})), file)
        .await
        .expect_err("refused")
    {
        QueryError::Rejected(rejection) => {
            assert_eq!(rejection.sqlstate, "22007");
            assert_eq!(rejection.columns, ["born"]);
            assert_eq!(rejection.context.as_deref(), Some("line 4 of the file"));
        }
        other => panic!("{other}"),
    }
    assert_eq!(dump(&db, "people").await, "");
    match import_text(&db, people(json!({})), "id\n1\n1\n")
        .await
        .expect_err("refused")
    {
        QueryError::Rejected(rejection) => assert_eq!(rejection.sqlstate, "23505"),
        other => panic!("{other}"),
    }
    assert_eq!(dump(&db, "people").await, "");
}

#[tokio::test]
async fn tables_are_created_with_types_and_row_security() {
    let db = TestDatabase::create().await;
    let body =
        json!({ "relation": { "name": "new \"one\"" }, "create": true, "primary_key": ["id"] });
    let file = "id,price,at,ok,who\n1,2.50,2026-01-02T03:04:05Z,true,x\n";
    import_text(&db, body.clone(), file)
        .await
        .expect("imported");
    let types: Vec<String> = db
        .query("select format_type(atttypid, atttypmod) from pg_attribute
                where attrelid = 'public.\"new \"\"one\"\"\"'::regclass and attnum > 0 order by attnum")
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(
        types,
        [
            "bigint",
            "numeric",
            "timestamp with time zone",
            "boolean",
            "text"
        ]
    );
    let count = "select count(*) from pg_class where relname = 'new \"one\"' and relrowsecurity";
    assert_eq!(db.count(count).await, 1);

    match import_text(&db, body, file).await.expect_err("is there") {
        QueryError::Rejected(rejection) => assert_eq!(rejection.sqlstate, "42P07"),
        other => panic!("{other}"),
    }
    for type_text in ["int); drop table x; --", "nothing", ""] {
        let body = json!({ "relation": { "name": "other" }, "create": true,
            "columns": [{ "source": "id", "target": "id", "type": type_text }] });
        let error = import_text(&db, body, "id\n1\n")
            .await
            .expect_err("refused");
        assert!(
            matches!(error, QueryError::Invalid(_) | QueryError::Rejected(_)),
            "{error}"
        );
    }
    assert_eq!(
        db.count("select count(*) from pg_class where relname = 'other'")
            .await,
        0
    );
}

#[tokio::test]
async fn rows_are_replaced_and_merged() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "{PEOPLE}; insert into people values (1, 'old', null, null), (9, 'stays', null, null)"
    ))
    .await;
    let file = "id,name\n1,new\n2,b\n";
    import_text(&db, people(json!({ "mode": "upsert" })), file)
        .await
        .expect("merged");
    assert_eq!(dump(&db, "people").await, "(1,new,,) (2,b,,) (9,stays,,)");
    import_text(&db, people(json!({ "mode": "replace" })), file)
        .await
        .expect("replaced");
    assert_eq!(dump(&db, "people").await, "(1,new,,) (2,b,,)");
    // Nothing is lost by a replacement that fails.
    import_text(&db, people(json!({ "mode": "replace" })), "id,name\nx,y\n")
        .await
        .expect_err("refused");
    assert_eq!(dump(&db, "people").await, "(1,new,,) (2,b,,)");
    // Others refer to the rows, so they cannot simply be truncated.
    db.execute("create table pets (owner int references people on delete cascade); insert into pets values (1)").await;
    import_text(&db, people(json!({ "mode": "replace" })), file)
        .await
        .expect("replaced");
    assert_eq!(db.count("select count(*) from pets").await, 0);
}

#[tokio::test]
async fn a_trigger_that_drops_rows_is_noticed() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "{PEOPLE}; create function even() returns trigger language plpgsql as
         $$ begin if new.id % 2 = 1 then return null; end if; return new; end $$;
         create trigger even before insert on people for each row execute function even()"
    ))
    .await;
    let error = import_text(&db, people(json!({})), "id\n1\n2\n3\n")
        .await
        .expect_err("noticed");
    assert!(error.to_string().contains("1 of 3 rows"), "{error}");
    assert_eq!(dump(&db, "people").await, "");
}

#[tokio::test]
async fn a_cancelled_import_leaves_nothing() {
    let db = TestDatabase::create().await;
    db.execute(PEOPLE).await;
    let options: ImportRequest = request(people(json!({ "mode": "replace" })));
    let relation = relation(&db, &options).await;
    let client = db.admin().await;
    let (progress, mut seen) = watch::channel(ImportProgress::default());
    let cancel = CancellationToken::new();
    // The beginning is longer than what is looked at first; the end never comes.
    let start: String = (1..80_000).map(|id| format!("{id},x\n")).collect();
    let start = Bytes::from(format!("id,name\n{start}"));
    let file = stream::unfold(Some(start), async |piece| match piece {
        Some(piece) => Some((Ok::<_, Infallible>(piece), None)),
        None => std::future::pending().await,
    });
    let file = Box::pin(file);
    let running = import(
        &client,
        relation.as_ref(),
        &options,
        file,
        &progress,
        &cancel,
    );
    let cancelling = async {
        seen.wait_for(|now| now.rows > 70_000)
            .await
            .expect("progress");
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(running, cancelling);
    assert!(matches!(done, Err(QueryError::Cancelled)), "{done:?}");
    drop(client);
    until(async || dump(&db, "people").await.is_empty()).await;
    let busy = "select count(*) from pg_locks l join pg_class c on c.oid = l.relation where c.relname = 'people'";
    tokio::time::timeout(
        Duration::from_secs(30),
        until(async || db.count(busy).await == 0),
    )
    .await
    .expect("released");
}

#[tokio::test]
async fn a_line_without_end_is_refused_early() {
    let db = TestDatabase::create().await;
    db.execute(PEOPLE).await;
    let options: ImportRequest = request(people(json!({})));
    let relation = relation(&db, &options).await;
    let client = db.admin().await;
    let (progress, _seen) = watch::channel(ImportProgress::default());
    let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
    let sent = AtomicU64::new(0);
    // A file that begins well and goes on with one line.
    let line = stream::iter(0..5 * 1024).map(|index| {
        sent.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(match index {
            0 => Bytes::from_static(b"id,name\n1,\""),
            _ => piece.clone(),
        })
    });
    let cancel = CancellationToken::new();
    let done = import(
        &client,
        relation.as_ref(),
        &options,
        line,
        &progress,
        &cancel,
    )
    .await;
    assert!(
        matches!(done, Err(QueryError::BadFile { line: 2, .. })),
        "{done:?}"
    );
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 64, "of 5120 MiB, {sent} were read");
}

#[tokio::test]
async fn what_cannot_be_mapped_is_refused() {
    let db = TestDatabase::create().await;
    db.execute(&format!("{PEOPLE}; create table keyless (id int)"))
        .await;
    for (body, file) in [
        (people(json!({})), "nothing,else\n1,2\n"),
        (people(json!({})), ""),
        (people(json!({ "columns": [] })), "id\n1\n"),
        (
            people(json!({ "columns": [{ "source": "x", "target": "id" }] })),
            "id\n1\n",
        ),
        (
            people(json!({ "columns": [{ "source": "id", "target": "x" }] })),
            "id\n1\n",
        ),
        (
            people(
                json!({ "columns": [{ "source": "id", "target": "id" }, { "source": "b", "target": "id" }] }),
            ),
            "id,b\n1,2\n",
        ),
        (people(json!({ "mode": "upsert" })), "name\nx\n"),
        (
            json!({ "relation": { "name": "keyless" }, "mode": "upsert" }),
            "id\n1\n",
        ),
    ] {
        let error = import_text(&db, body.clone(), file)
            .await
            .expect_err("refused");
        assert!(matches!(error, QueryError::Invalid(_)), "{body}: {error}");
    }
}
