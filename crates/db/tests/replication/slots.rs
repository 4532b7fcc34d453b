//! Replication slot commands and their errors.

use plinth_db::{
    DbError, Target,
    replication::{Lsn, Replication, SlotLifetime},
};
use plinth_testkit::TestDatabase;

use crate::support::*;

fn rejected<T>(outcome: Result<T, DbError>) -> String {
    let error = outcome.err().expect("rejected");
    let pg_error = error.pg_error().expect("by Postgres");
    pg_error.sqlstate().to_owned()
}

#[tokio::test]
async fn a_session_knows_its_server() {
    let db = TestDatabase::create().await;
    let mut session = Replication::connect(db.target()).await.expect("a session");

    let system = session.identify().await.expect("a result");

    let sql = "select system_identifier::text from pg_control_system()";
    let row = db.admin().await.query_one(sql, &[]).await.expect("a row");
    assert_eq!(system.id, row.get::<_, &str>(0));
    assert_eq!(system.timeline, 1);
    assert!(system.position > Lsn::ZERO);
}

#[tokio::test]
async fn a_rejected_command_costs_no_session() {
    let db = TestDatabase::create().await;
    let mut session = Replication::connect(db.target()).await.expect("a session");
    let slot = db.name();
    let permanent = SlotLifetime::Permanent;

    assert_eq!(rejected(session.drop_slot(slot).await), "42704");
    let made = session.create_slot(slot, permanent).await.expect("a slot");
    assert!(made > Lsn::ZERO);
    assert_eq!(
        rejected(session.create_slot(slot, permanent).await),
        "42710"
    );
    let strange = session.create_slot("Not such-a name", permanent).await;
    assert_eq!(rejected(strange), "42602");
    session.drop_slot(slot).await.expect("dropped");
    session.create_slot(slot, permanent).await.expect("again");
    session.drop_slot(slot).await.expect("dropped");
}

#[tokio::test]
async fn a_temporary_slot_ends_with_its_session() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let count = async || {
        let sql = "select count(*) from pg_replication_slots where slot_name = $1";
        let row = admin.query_one(sql, &[&db.name()]).await.expect("a row");
        row.get::<_, i64>(0)
    };
    let mut session = Replication::connect(db.target()).await.expect("a session");
    let made = session.create_slot(db.name(), SlotLifetime::Temporary);
    made.await.expect("a slot");
    assert_eq!(count().await, 1);

    drop(session);

    with_timeout(async {
        while count().await > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_slot_has_one_reader() {
    let published = Published::tables("create table public.t (id int primary key)").await;
    let _first = published.follow().await;

    let second = published.session().await;
    let second = second
        .start(published.slot(), &[PUBLICATION], Lsn::ZERO)
        .await;
    let missing = published.session().await;
    let missing = missing
        .start("no_such_slot", &[PUBLICATION], Lsn::ZERO)
        .await;

    assert_eq!(rejected(second), "55006");
    assert_eq!(rejected(missing), "42704");
}

#[tokio::test]
async fn a_stream_that_was_ended_leaves_a_session() {
    let published = Published::tables("create table public.t (id int primary key)").await;
    let mut follower = published.follow().await;
    published
        .run("insert into t select generate_series(1, 20000)")
        .await;
    let next = with_timeout(follower.0.next()).await.expect("a stream");
    assert!(next.is_some(), "something is under way");

    let mut session = with_timeout(follower.0.end()).await.expect("a good end");

    session.identify().await.expect("it goes on");
    session.drop_slot(published.slot()).await.expect("dropped");
}

#[tokio::test]
async fn a_command_whose_future_was_dropped_ends_the_session() {
    let db = TestDatabase::create().await;
    let mut session = Replication::connect(db.target()).await.expect("a session");
    {
        let given_up = session.identify();
        tokio::pin!(given_up);
        assert!(futures_util::poll!(given_up).is_pending());
    }

    assert!(matches!(session.identify().await, Err(DbError::Lost(_))));
}

#[tokio::test]
async fn a_role_without_the_privilege_gets_an_error() {
    let db = TestDatabase::create().await;
    let role = format!("plain_{}", &db.name()[5..15]);
    let sql = format!("create role {role} login password 'secret'");
    db.admin().await.batch_execute(&sql).await.expect("a role");
    let target: Target = db.target().login(&role, "secret");

    let rejected = Replication::connect(&target).await.err().expect("rejected");

    let text = rejected.to_string();
    assert!(text.contains("42501"), "{text}");
}
