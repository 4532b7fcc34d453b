//! Inserted, updated and deleted rows.

use std::time::Duration;

use plinth_db::replication::pgoutput::{Message, OldRow, ReplicaIdentity, Tuple, Value};
use plinth_testkit::{Sql as _, until};
use time::OffsetDateTime;

use crate::support::*;

const TABLE: &str = "create table public.t (id int primary key, note text)";

#[tokio::test]
async fn changes_of_a_transaction_arrive_in_order_after_their_table() {
    let published = Published::tables(TABLE).await;
    let before = OffsetDateTime::now_utc() - Duration::from_secs(1);
    let sql = "begin;
               insert into t values (1, 'a'), (2, null);
               update t set note = 'ü' where id = 1;
               delete from t where id = 2;
               commit";
    published.run(sql).await;

    let transaction = published.follow().await.transaction().await;

    let [Message::Relation(relation)] = &transaction.relations[..] else {
        panic!("one relation: {:?}", transaction.relations);
    };
    assert_eq!(
        (relation.schema.as_str(), relation.name.as_str()),
        ("public", "t")
    );
    assert_eq!(relation.identity, ReplicaIdentity::Default);
    let columns: Vec<_> = relation
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.is_key, column.type_oid))
        .collect();
    assert_eq!(columns, [("id", true, 23), ("note", false, 25)]);
    let [
        Message::Insert(first),
        Message::Insert(second),
        Message::Update(update),
        Message::Delete(delete),
    ] = &transaction.changes[..]
    else {
        panic!("four changes: {:?}", transaction.changes);
    };
    assert_eq!(first.new, row(&["1", "a"]));
    assert_eq!(second.new, Tuple::new(vec![text("2"), Value::Null]));
    assert_eq!((&update.old, &update.new), (&None, &row(&["1", "ü"])));
    let gone = Tuple::new(vec![text("2"), Value::Null]);
    assert_eq!(delete.old, OldRow::Key(gone));
    assert!(
        [
            first.relation,
            second.relation,
            update.relation,
            delete.relation
        ]
        .iter()
        .all(|oid| *oid == relation.oid)
    );
    let after = OffsetDateTime::now_utc() + Duration::from_secs(1);
    assert!((before..after).contains(&transaction.commit.committed_at));
    assert_eq!(transaction.position, transaction.commit.end);
}

#[tokio::test]
async fn transactions_arrive_in_the_order_of_their_commits() {
    let published = Published::tables(TABLE).await;
    let mut other = published.db.admin().await;
    let early = other.transaction().await.expect("begun");
    early
        .batch_execute("insert into t values (1, 'begun first')")
        .await
        .expect("inserted");
    published
        .run("insert into t values (2, 'committed first')")
        .await;
    early.commit().await.expect("committed");
    published
        .run("begin; insert into t values (3, 'never'); rollback")
        .await;
    published.run("insert into t values (4, 'last')").await;

    let mut follower = published.follow().await;

    for expected in [
        ["2", "committed first"],
        ["1", "begun first"],
        ["4", "last"],
    ] {
        let transaction = follower.transaction().await;
        let [Message::Insert(insert)] = &transaction.changes[..] else {
            panic!("one insert: {:?}", transaction.changes);
        };
        assert_eq!(insert.new, row(&expected));
    }
}

#[tokio::test]
async fn changes_arrive_while_they_are_waited_for() {
    let published = Published::tables(TABLE).await;
    let mut follower = published.follow().await;

    let (transaction, ()) = tokio::join!(follower.transaction(), async {
        let idle = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event ilike 'WalSenderWaitForWAL'";
        until(async || published.db.count(idle).await == 1).await;
        published.run("insert into t values (1, 'late')").await;
    });

    assert_eq!(transaction.changes.len(), 1);
}

#[tokio::test]
async fn a_table_that_changes_is_described_anew() {
    let published = Published::tables(TABLE).await;
    let mut follower = published.follow().await;
    published.run("insert into t values (1, 'a')").await;
    assert_eq!(follower.transaction().await.relations.len(), 1);
    published.run("insert into t values (2, 'b')").await;
    assert_eq!(follower.transaction().await.relations.len(), 0);

    let ddl = "alter table t add more int; alter table t drop note; alter table t rename to u;
               insert into u values (3, 7)";
    published.run(ddl).await;

    let transaction = follower.transaction().await;
    let [Message::Relation(relation)] = &transaction.relations[..] else {
        panic!("one relation: {:?}", transaction.relations);
    };
    let columns: Vec<_> = relation
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!((relation.name.as_str(), columns), ("u", vec!["id", "more"]));
    let [Message::Insert(insert)] = &transaction.changes[..] else {
        panic!("one insert: {:?}", transaction.changes);
    };
    assert_eq!(insert.new, row(&["3", "7"]));
}

#[tokio::test]
async fn reading_can_be_given_up_and_taken_up_again() {
    let published = Published::tables(TABLE).await;
    let sql = "insert into t select n, repeat('x', case n % 100 when 0 then 3000000 else n end)
               from generate_series(1, 400) n";
    published.run(sql).await;
    let mut stream = published.follow().await.0;

    let mut ids = Vec::new();
    let mut timeout = Duration::from_micros(1);
    let read = async {
        loop {
            let Ok(next) = tokio::time::timeout(timeout, stream.next()).await else {
                // Grow, or no message would ever be complete.
                timeout = (timeout * 2).min(Duration::from_millis(1));
                continue;
            };
            timeout = Duration::from_micros(1);
            let data = next.expect("a stream").expect("no end").data;
            match Message::decode(data).expect("a message") {
                Message::Insert(insert) => {
                    let [Value::Text(id), Value::Text(note)] = insert.new.values() else {
                        panic!("two texts");
                    };
                    let id = std::str::from_utf8(id).expect("a number");
                    let id: usize = id.parse().expect("a number");
                    let expected = if id.is_multiple_of(100) {
                        3_000_000
                    } else {
                        id
                    };
                    assert!(note.len() == expected && note.iter().all(|byte| *byte == b'x'));
                    ids.push(id);
                }
                Message::Commit(_) => break,
                _ => {}
            }
        }
    };
    with_timeout(read).await;

    assert!(ids.iter().copied().eq(1..=400), "nothing lost, in order");
}
