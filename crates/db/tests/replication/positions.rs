//! Confirmed positions.

use std::time::Duration;

use plinth_db::{
    DbError,
    replication::{Lsn, Replication, pgoutput::Message},
};

use crate::support::*;

const TABLE: &str = "create table public.t (id int primary key)";

fn inserted(transaction: &Transaction) -> String {
    let [Message::Insert(insert)] = &transaction.changes[..] else {
        panic!("one insert: {:?}", transaction.changes);
    };
    format!("{:?}", insert.new.values()[0])
}

#[tokio::test]
async fn what_was_not_confirmed_comes_again() {
    let published = Published::tables(TABLE).await;
    for id in 1..=3 {
        published.run(&format!("insert into t values ({id})")).await;
    }
    let mut follower = published.follow().await;
    let first = follower.transaction().await;
    let second = follower.transaction().await;
    follower.0.confirm(first.commit.end);
    follower.0.end().await.expect("a good end");

    let mut follower = published.follow().await;

    let again = follower.transaction().await;
    assert_eq!(inserted(&again), inserted(&second));
    assert_eq!(again.commit, second.commit);
    let third = follower.transaction().await;
    assert!(third.commit.end > second.commit.end);
}

#[tokio::test]
async fn a_lost_connection_is_noticed_and_costs_no_change() {
    let published = Published::tables(TABLE).await;
    let mut follower = published.follow().await;
    published.run("insert into t values (1)").await;
    let first = follower.transaction().await;
    let end = "select pg_terminate_backend(active_pid) from pg_replication_slots
               where slot_name = current_database()";

    published.run(end).await;
    let lost = with_timeout(async {
        loop {
            match follower.0.next().await {
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });

    assert!(matches!(lost.await, DbError::Lost(_)));
    published.run("insert into t values (2)").await;
    let mut follower = published.follow().await;
    assert_eq!(follower.transaction().await.commit, first.commit);
    assert_eq!(follower.transaction().await.changes.len(), 1);
}

async fn wait_until_confirmed(published: &Published, position: Lsn) {
    let waiting = async {
        while published.confirmed().await < position {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    with_timeout(waiting).await;
}

#[tokio::test]
async fn the_server_learns_what_was_confirmed_while_the_reader_waits_or_is_busy() {
    let published = Published::tables(TABLE).await;
    let mut follower = published.follow().await;
    published.run("insert into t values (1)").await;
    let end = follower.transaction().await.commit.end;
    assert!(published.confirmed().await < end);

    follower.0.confirm(end);
    tokio::select! {
        next = follower.0.next() => panic!("there is nothing to read: {next:?}"),
        () = wait_until_confirmed(&published, end) => {}
    }

    published.run("insert into t values (2)").await;
    let end = follower.transaction().await.commit.end;
    follower.0.confirm(end);
    tokio::select! {
        error = follower.0.keep_alive() => panic!("{error}"),
        () = wait_until_confirmed(&published, end) => {}
    }
}

#[tokio::test]
async fn tables_that_rest_do_not_hold_back_the_log_of_others() {
    let published = Published::tables(TABLE).await;
    let mut follower = published.follow().await;
    published
        .run("create schema other; create table other.u as select generate_series(1, 1000)")
        .await;
    let written = published.current_position().await;

    let quiet = tokio::time::timeout(Duration::from_secs(1), follower.0.next()).await;
    assert!(quiet.is_err(), "nothing that was published: {quiet:?}");
    follower.0.end().await.expect("a good end");

    assert!(published.confirmed().await >= written);
}

#[tokio::test]
async fn a_keepalive_that_requests_a_reply_gets_one() {
    let published = Published::tables(TABLE).await;
    // Long enough for a machine that is busy with other things.
    let target = published.db.target().options("-c wal_sender_timeout=5s");
    let session = Replication::connect(&target).await.expect("a session");
    let started = session
        .start(published.slot(), &[PUBLICATION], Lsn::ZERO)
        .await;
    let mut follower = Follower(started.expect("a stream"));

    let quiet = tokio::time::timeout(Duration::from_secs(8), follower.0.next()).await;
    assert!(quiet.is_err(), "neither a change nor an end: {quiet:?}");

    published.run("insert into t values (1)").await;
    assert_eq!(follower.transaction().await.changes.len(), 1);
}
