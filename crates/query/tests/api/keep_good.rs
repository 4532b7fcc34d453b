//! Imports that keep the good rows.

use plinth_query::QueryError;
use plinth_testkit::{Sql as _, TestDatabase};
use serde_json::{Value, json};

use crate::import::{dump, import_pieces, import_text};

fn items(extra: Value) -> Value {
    let mut body = json!({ "relation": { "name": "items" }, "on_error": "skip" });
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    body
}

const ITEMS: &str =
    "create table items (id int primary key, price numeric(5, 2) check (price >= 0),
                                         name varchar(5) not null, owner int)";

/// Lines and reasons of a list.
fn reasons(csv: &str) -> Vec<(u64, String)> {
    let lines = csv.lines().skip(1);
    lines
        .map(|line| {
            let mut parts = line.splitn(3, ',');
            let number = parts
                .next()
                .and_then(|text| text.parse().ok())
                .expect("a line");
            (number, parts.next().unwrap_or_default().to_owned())
        })
        .collect()
}

#[tokio::test]
async fn every_bad_row_is_listed_and_every_good_one_is_there() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "{ITEMS}; insert into items values (5, 1, 'here', null)"
    ))
    .await;
    let file = "id,price,name\n\
                1,1.5,a\n\
                x,1,b\n\
                2,-1,c\n\
                3,1,\n\
                4,1\n\
                5,1,e\n\
                6,12345,f\n\
                7,1,toolong\n\
                8,1,\"g\"h\n\
                9,2,i\n\
                9,3,again\n";
    let report = import_text(&db, items(json!({})), file)
        .await
        .expect("imported");

    assert_eq!((report.rows_read, report.rows_written), (11, 2));
    let lines: Vec<u64> = {
        let mut lines: Vec<u64> = reasons(report.rejects.csv())
            .iter()
            .map(|item| item.0)
            .collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines, [3, 4, 5, 6, 7, 8, 9, 10, 12]);
    assert_eq!(report.rejects.count(), 9);
    assert_eq!(
        dump(&db, "items").await,
        "(1,1.50,a,) (5,1.00,here,) (9,2.00,i,)"
    );
    let csv = report.rejects.csv();
    assert!(
        csv.starts_with("line,reason,\"id\",\"price\",\"name\"\n"),
        "{csv}"
    );
    assert!(csv.contains(",\"x\",\"1\",\"b\"\n"), "{csv}");
    assert!(csv.contains("items_price_check"), "{csv}");
}

#[tokio::test]
async fn bad_rows_are_found_in_large_files() {
    let db = TestDatabase::create().await;
    db.execute(ITEMS).await;
    let mut file = "id,price,name\n".to_owned();
    for id in 1..=20_000 {
        let price = if id % 3000 == 0 { -1 } else { 1 };
        let name = if id % 5000 == 0 { "" } else { "x" };
        file.push_str(&format!("{id},{price},{name}\n"));
    }
    let report = import_pieces(&db, items(json!({})), file.as_bytes(), 10_000)
        .await
        .expect("imported");
    // 6 by their price, 4 by their name; 15 000 by both.
    assert_eq!(report.rejects.count(), 9);
    assert_eq!(report.rows_written, 19_991);
    assert_eq!(db.count("select count(*) from items").await, 19_991);
}

#[tokio::test]
async fn too_many_bad_rows_end_an_import() {
    let db = TestDatabase::create().await;
    db.execute(ITEMS).await;
    let file = "id,price,name\n1,1,a\nx,1,a\ny,1,a\n";
    let body = items(json!({ "max_rejects": 1 }));
    match import_text(&db, body, file).await.expect_err("refused") {
        QueryError::Rejected(rejection) => {
            assert!(
                rejection.message.contains("more than 1 rows"),
                "{}",
                rejection.message
            );
            assert!(rejection.hint.is_some_and(|hint| hint.contains("\"x\"")));
        }
        other => panic!("{other}"),
    }
    assert_eq!(dump(&db, "items").await, "");
    let report = import_text(&db, items(json!({ "max_rejects": 2 })), file)
        .await
        .expect("imported");
    assert_eq!(report.rows_written, 1);
}

#[tokio::test]
async fn merging_keeps_the_last_row_of_a_key() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "{ITEMS}; insert into items values (1, 1, 'old', 7)"
    ))
    .await;
    let file = "id,price,name\n1,2,a\n1,3,b\nx,1,c\n2,-5,d\n";
    let report = import_text(&db, items(json!({ "mode": "upsert" })), file)
        .await
        .expect("merged");
    assert_eq!(report.rejects.count(), 2);
    assert_eq!(dump(&db, "items").await, "(1,3.00,b,7)");
}

#[tokio::test]
async fn errors_that_are_not_of_a_row_end_an_import() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "{ITEMS}; create function broken() returns trigger language plpgsql as
         $$ begin perform from no_such_table; return new; end $$;
         create trigger broken before insert on items for each row execute function broken()"
    ))
    .await;
    match import_text(&db, items(json!({})), "id,name\n1,a\n")
        .await
        .expect_err("refused")
    {
        QueryError::Rejected(rejection) => assert_eq!(rejection.sqlstate, "42P01"),
        other => panic!("{other}"),
    }
    assert_eq!(
        db.count("select count(*) from pg_class where relname = 'plinth_import'")
            .await,
        0
    );
}

#[tokio::test]
async fn rows_that_refer_to_nothing_are_left_out() {
    let db = TestDatabase::create().await;
    db.execute(&format!(
        "create table owners (id int primary key); insert into owners values (1); {ITEMS};
         alter table items add foreign key (owner) references owners deferrable initially deferred"
    ))
    .await;
    let file = "id,name,owner\n1,a,1\n2,b,2\n3,c,\n";
    let report = import_text(&db, items(json!({})), file)
        .await
        .expect("imported");
    assert_eq!(report.rows_written, 2);
    assert_eq!(reasons(report.rejects.csv())[0].0, 3);
}

#[tokio::test]
async fn broken_bytes_and_objects_are_left_out() {
    let db = TestDatabase::create().await;
    db.execute(ITEMS).await;
    let file = b"id,name\n1,a\n2,\xff\n3,c\n";
    let body = items(json!({ "encoding": "utf-8" }));
    let report = import_pieces(&db, body, file, 3).await.expect("imported");
    assert_eq!(reasons(report.rejects.csv())[0].0, 3);

    let file = "{\"id\": 4, \"name\": \"d\"}\n{\"id\": 5 \"name\": \"e\"}\n{\"id\": 6, \"name\": \"f\\u0000\"}\n";
    let report = import_text(&db, items(json!({})), file)
        .await
        .expect("imported");
    let lines: Vec<u64> = reasons(report.rejects.csv())
        .iter()
        .map(|item| item.0)
        .collect();
    assert_eq!(lines, [2, 3]);
    assert_eq!(db.count("select count(*) from items").await, 3);
}
