//! Streaming the changes of a project's database, and releasing it for an exclusive lock.

use std::time::Duration;

use plinth_db::{
    DbError, PoolConfig,
    replication::{Lsn, pgoutput::Message},
};
use plinth_project::{ProjectDb, Replicator, SlotStream};
use plinth_testkit::{Sql as _, TestDatabase, until};

const TIMEOUT: Duration = Duration::from_secs(30);

struct Followed {
    test: TestDatabase,
    db: ProjectDb,
}

impl Followed {
    async fn create() -> Self {
        let test = TestDatabase::create().await;
        let db = ProjectDb::standalone(test.target().clone(), PoolConfig::default());
        let followed = Self { test, db };
        let ddl = "create table public.t (id int primary key, note text);
                   create publication news for table t";
        followed.run(ddl).await;
        let mut replicator = followed.replicator().await;
        let made = replicator.create_slot(followed.test.name()).await;
        made.expect("a slot");
        followed
    }

    async fn run(&self, sql: &str) {
        let admin = self.test.admin().await;
        admin.batch_execute(sql).await.expect("SQL that works");
    }

    async fn replicator(&self) -> Replicator {
        self.db.as_replicator().await.expect("a session")
    }

    async fn follow(&self) -> SlotStream {
        let following = self
            .replicator()
            .await
            .follow(self.test.name(), &["news"], Lsn::ZERO);
        following.await.expect("a stream")
    }

    async fn is_in_use(&self) -> bool {
        let sql = "select active from pg_replication_slots where slot_name = current_database()";
        let admin = self.test.admin().await;
        admin.query_one(sql, &[]).await.expect("the slot").get(0)
    }
}

/// The next commit's end, and how many rows were inserted before it.
async fn transaction(following: &mut SlotStream) -> (Lsn, usize) {
    let mut inserted = 0;
    loop {
        let next = tokio::time::timeout(TIMEOUT, following.next()).await;
        let data = next.expect("in time").expect("no end").expect("a stream");
        match Message::decode(data.data).expect("a message") {
            Message::Insert(_) => inserted += 1,
            Message::Commit(commit) => return (commit.end, inserted),
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_was_confirmed_does_not_come_again() {
    let followed = Followed::create().await;
    let mut following = followed.follow().await;
    followed.run("insert into t values (1)").await;
    followed.run("insert into t values (2), (3)").await;
    let (first, _) = transaction(&mut following).await;
    let (second, _) = transaction(&mut following).await;

    following.confirm(first);
    following.confirm(Lsn::ZERO);
    following.end().await;
    assert!(!followed.is_in_use().await);

    let mut following = followed.follow().await;
    assert_eq!(transaction(&mut following).await, (second, 2));
}

#[tokio::test]
async fn the_stream_disconnects_for_an_exclusive_lock() {
    let followed = Followed::create().await;
    // Far more than the queue's capacity, so that the reader is behind.
    let fill = "insert into t select n, repeat('x', 5000) from generate_series(1, 3000) n";
    followed.run(fill).await;
    let mut following = followed.follow().await;
    let first = tokio::time::timeout(TIMEOUT, following.next()).await;
    assert!(matches!(first, Ok(Some(Ok(_)))), "it flows");

    let lock = followed.db.lock(TIMEOUT).await.expect("the lock");

    assert!(!followed.is_in_use().await, "the slot is free");
    let mut last = None;
    while let Some(next) = following.next().await {
        assert!(last.is_none(), "the error comes last");
        last = next.err();
    }
    assert!(matches!(last, Some(DbError::Unavailable(_))), "{last:?}");
    let early = tokio::time::timeout(Duration::from_millis(200), followed.db.as_replicator());
    assert!(early.await.is_err(), "it waits");

    drop(lock);
    let mut following = followed.follow().await;
    assert_eq!(transaction(&mut following).await.1, 3000);
}

#[tokio::test]
async fn creating_a_slot_does_not_block_an_exclusive_lock() {
    let followed = Followed::create().await;
    let mut writer = followed.test.admin().await;
    let open = writer.transaction().await.expect("begun");
    open.batch_execute("insert into t values (1)")
        .await
        .expect("inserted");
    let mut replicator = followed.replicator().await;
    let name = format!("{}_b", followed.test.name());

    let creating = async move {
        let created = replicator.create_slot(&name).await;
        drop(replicator);
        created
    };
    let begun = "select count(*) from pg_replication_slots
        where database = current_database() and slot_name <> current_database()";
    let locking = async {
        until(async || followed.test.count(begun).await == 1).await;
        followed.db.lock(TIMEOUT).await
    };
    let (created, locked) = tokio::join!(creating, locking);

    assert!(
        matches!(created, Err(DbError::Unavailable(_))),
        "{created:?}"
    );
    assert!(locked.is_ok(), "the database is free");
}

#[tokio::test]
async fn a_reader_that_leaves_frees_the_slot() {
    let followed = Followed::create().await;
    drop(followed.follow().await);

    let waiting = async {
        while followed.is_in_use().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting)
        .await
        .expect("in time");
}
