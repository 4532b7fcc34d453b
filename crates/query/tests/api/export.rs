//! Files that are exported, and imported again.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use plinth_query::{ExportFormat, ExportRequest, TextUnescaper};
use plinth_testkit::Sql as _;
use serde_json::{Value, json};

use crate::{
    import::{dump, import_text},
    support::{Rows, request},
};

const THINGS: &str = "
    create table things (id int primary key, t text, n int8, b bool, j jsonb, arr text[],
                         twice int generated always as (id * 2) stored);
    insert into things values
        (1, E'tab\\t\"quote\"\\nline\\\\back''s', 9007199254740993, true, '{\"a\": \"x\\ny\"}', '{a,\"b c\"}'),
        (2, null, null, null, null, null), (3, '', 0, false, '[]', '{}')";

async fn export(rows: &Rows, body: Value) -> String {
    let request: ExportRequest = request(body);
    let mut tx = rows.begin().await;
    let statement = plinth_query::export_statement(&mut tx, &request)
        .await
        .expect("a statement");
    let client = rows.db.admin().await;
    let pieces = client.copy_out(&*statement.sql).await.expect("rows");
    let pieces: Vec<Bytes> = pieces.try_collect().await.expect("rows");
    let mut unescaper = TextUnescaper::new(request.format);
    let mut file = Vec::new();
    for piece in pieces {
        if statement.is_escaped {
            file.extend_from_slice(&unescaper.push(&piece));
        } else {
            file.extend_from_slice(&piece);
        }
    }
    if statement.is_escaped {
        file.extend_from_slice(&unescaper.finish());
    }
    String::from_utf8(file).expect("text")
}

#[tokio::test]
async fn what_is_exported_can_be_imported() {
    let rows = Rows::new(THINGS).await;
    let before = dump(&rows.db, "things").await;
    for format in ["csv", "json", "ndjson"] {
        let body = json!({ "relation": { "name": "things" }, "format": format,
                           "columns": ["id", "t", "n", "b", "j", "arr"] });
        let file = export(&rows, body).await;
        let body = json!({ "relation": { "name": "things" }, "mode": "replace", "null": "" });
        import_text(&rows.db, body, &file)
            .await
            .unwrap_or_else(|error| panic!("{error}: {file}"));
        assert_eq!(dump(&rows.db, "things").await, before, "{format}");
    }
}

#[tokio::test]
async fn statements_make_the_same_rows() {
    let rows = Rows::new(THINGS).await;
    let before = dump(&rows.db, "things").await;
    let body = json!({ "relation": { "name": "things" }, "format": "sql" });
    let file = export(&rows, body).await;
    rows.db
        .execute(&format!("delete from things; {file}"))
        .await;
    assert_eq!(dump(&rows.db, "things").await, before);
}

#[tokio::test]
async fn an_export_has_what_the_view_shows() {
    let rows = Rows::new(THINGS).await;
    let body = json!({
        "relation": { "name": "things" }, "format": "ndjson", "columns": ["n", "id"],
        "filters": [{ "column": "t", "operator": "is distinct", "value": "it's \\ nothing" },
                    { "column": "id", "operator": "in", "value": ["1", "3"] }],
        "sort": [{ "column": "id", "descending": true }],
    });
    let file = export(&rows, body).await;
    assert_eq!(
        file,
        "{\"n\":0,\"id\":3}\n{\"n\":9007199254740993,\"id\":1}\n"
    );
    let none = json!({ "relation": { "name": "things" }, "format": "json",
                       "filters": [{ "column": "id", "operator": "=", "value": "9" }] });
    assert_eq!(export(&rows, none).await, "[]\n");
    assert_eq!(ExportFormat::Csv.media_type(), "text/csv; charset=utf-8");
}
