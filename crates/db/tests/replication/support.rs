//! A published table and a reader of its changes.

use std::time::Duration;

use bytes::Bytes;
use plinth_db::{
    DbError,
    replication::{
        Lsn, Replication, ReplicationStream, SlotLifetime,
        pgoutput::{Commit, Message, Tuple, Value},
    },
};
use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

/// Generous, because the machine may be busy with other tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const PUBLICATION: &str = "news";

/// A database with a publication and a permanent slot.
pub(crate) struct Published {
    pub(crate) db: TestDatabase,
    pub(crate) admin: Client,
}

impl Published {
    /// Creates and publishes the tables; the slot keeps their changes from now on.
    pub(crate) async fn tables(ddl: &str) -> Self {
        let db = TestDatabase::create().await;
        let admin = db.admin().await;
        let published = Self { db, admin };
        published.run(ddl).await;
        let sql = format!("create publication {PUBLICATION} for tables in schema public");
        published.run(&sql).await;
        let mut session = published.session().await;
        let made = session.create_slot(published.slot(), SlotLifetime::Permanent);
        made.await.expect("a slot");
        published
    }

    /// Slots are per cluster, so their names must differ.
    pub(crate) fn slot(&self) -> &str {
        self.db.name()
    }

    pub(crate) async fn session(&self) -> Replication {
        let session = Replication::connect(self.db.target()).await;
        session.expect("a replication session")
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.admin.batch_execute(sql).await.expect("SQL that works");
    }

    /// Streams the slot, once it has no other reader.
    pub(crate) async fn follow(&self) -> Follower {
        let attempt = async {
            loop {
                match self
                    .session()
                    .await
                    .start(self.slot(), &[PUBLICATION], Lsn::ZERO)
                    .await
                {
                    Ok(stream) => return Follower(stream),
                    Err(error) if is_in_use(&error) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        };
        with_timeout(attempt).await
    }

    /// The confirmed position as the server reports it.
    pub(crate) async fn confirmed(&self) -> Lsn {
        let sql = "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = $1";
        let row = self.admin.query_one(sql, &[&self.slot()]).await;
        let text: String = row.expect("the slot").get(0);
        text.parse().expect("a position")
    }

    pub(crate) async fn current_position(&self) -> Lsn {
        let sql = "select pg_current_wal_insert_lsn()::text";
        let row = self.admin.query_one(sql, &[]).await.expect("a row");
        row.get::<_, &str>(0).parse().expect("a position")
    }
}

fn is_in_use(error: &DbError) -> bool {
    error
        .pg_error()
        .is_some_and(|pg_error| pg_error.sqlstate() == "55006")
}

pub(crate) async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    let work = tokio::time::timeout(TEST_TIMEOUT, work).await;
    work.expect("in time")
}

/// Reader of the changes.
pub(crate) struct Follower(pub(crate) ReplicationStream);

/// The changes of one transaction.
pub(crate) struct Transaction {
    /// Relation messages are left out, unless requested.
    pub(crate) changes: Vec<Message>,
    pub(crate) relations: Vec<Message>,
    pub(crate) commit: Commit,
    pub(crate) position: Lsn,
}

impl Follower {
    /// The next transaction that changed a published table.
    pub(crate) async fn transaction(&mut self) -> Transaction {
        with_timeout(self.read_transaction()).await
    }

    async fn read_transaction(&mut self) -> Transaction {
        let (mut changes, mut relations) = (Vec::new(), Vec::new());
        loop {
            let data = self.0.next().await.expect("a stream").expect("no end");
            match Message::decode(data.data).expect("a message") {
                Message::Begin(_) | Message::Other(_) => {}
                Message::Commit(commit) => {
                    let position = data.position;
                    return Transaction {
                        changes,
                        relations,
                        commit,
                        position,
                    };
                }
                relation @ Message::Relation(_) => relations.push(relation),
                change => changes.push(change),
            }
        }
    }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(Bytes::copy_from_slice(text.as_bytes()))
}

pub(crate) fn row(values: &[&str]) -> Tuple {
    Tuple::new(values.iter().map(|value| text(value)).collect())
}
