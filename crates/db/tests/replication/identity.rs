//! Replica identities and unchanged TOASTed values.

use plinth_db::replication::pgoutput::{Message, OldRow, Tuple, Update, Value};

use crate::support::*;

async fn update(published: &Published, follower: &mut Follower, sql: &str) -> Update {
    published.run(sql).await;
    let mut transaction = follower.transaction().await;
    match transaction.changes.pop() {
        Some(Message::Update(update)) if transaction.changes.is_empty() => update,
        other => panic!("one update: {other:?}"),
    }
}

#[tokio::test]
async fn a_changed_key_comes_with_the_old_one() {
    let ddl = "create table public.t (id int primary key, note text);
               insert into t values (1, 'a')";
    let published = Published::tables(ddl).await;
    let mut follower = published.follow().await;

    let change = update(&published, &mut follower, "update t set id = 2").await;

    let old = Tuple::new(vec![text("1"), Value::Null]);
    assert_eq!(change.old, Some(OldRow::Key(old)));
    assert_eq!(change.new, row(&["2", "a"]));
}

#[tokio::test]
async fn replica_identity_full_includes_the_whole_old_row() {
    let ddl = "create table public.t (id int primary key, note text);
               alter table t replica identity full;
               insert into t values (1, 'a')";
    let published = Published::tables(ddl).await;
    let mut follower = published.follow().await;

    let change = update(&published, &mut follower, "update t set note = 'b'").await;
    published.run("delete from t").await;
    let gone = follower.transaction().await.changes;

    assert_eq!(change.old, Some(OldRow::Full(row(&["1", "a"]))));
    let [Message::Delete(gone)] = &gone[..] else {
        panic!("one delete: {gone:?}");
    };
    assert_eq!(gone.old, OldRow::Full(row(&["1", "b"])));
}

/// Large and incompressible, so that it is TOASTed.
const LARGE: &str = "create table public.t (id int primary key, n int, large text);
                     alter table t alter large set storage external;
                     insert into t values (1, 1, repeat('x', 50000));";

#[tokio::test]
async fn a_large_value_that_was_left_alone_is_not_sent() {
    let published = Published::tables(LARGE).await;
    let mut follower = published.follow().await;

    let change = update(&published, &mut follower, "update t set n = 2").await;

    let new = Tuple::new(vec![text("1"), text("2"), Value::Unchanged]);
    assert_eq!((change.old, change.new), (None, new));
}

#[tokio::test]
async fn with_a_full_identity_the_old_row_has_the_large_value() {
    let ddl = format!("{LARGE} alter table t replica identity full");
    let published = Published::tables(&ddl).await;
    let mut follower = published.follow().await;

    let change = update(&published, &mut follower, "update t set n = 2").await;

    assert_eq!(change.new.get(2), Some(&Value::Unchanged));
    let old = row(&["1", "1", &"x".repeat(50_000)]);
    assert_eq!(change.old, Some(OldRow::Full(old)));
}

#[tokio::test]
async fn a_table_without_a_key_has_only_inserts() {
    let published = Published::tables("create table public.t (n int)").await;
    published.run("insert into t values (7)").await;

    let transaction = published.follow().await.transaction().await;
    let rejected = published.admin.batch_execute("update t set n = 8").await;

    let [Message::Relation(relation)] = &transaction.relations[..] else {
        panic!("one relation: {:?}", transaction.relations);
    };
    assert!(relation.columns.iter().all(|column| !column.is_key));
    let [Message::Insert(insert)] = &transaction.changes[..] else {
        panic!("one insert: {:?}", transaction.changes);
    };
    assert_eq!(insert.new, row(&["7"]));
    let code = rejected.expect_err("Postgres rejects it").code().cloned();
    assert_eq!(code.expect("a code").code(), "55000");
}
