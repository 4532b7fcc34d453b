//! A transaction much larger than the reader may buffer. It is a test binary of its own because it
//! measures the memory of the process.

use std::time::Duration;

use plinth_db::replication::{Lsn, Replication, SlotLifetime, pgoutput::Message};
use plinth_testkit::{Sql as _, TestDatabase, until};

const ROWS: u32 = 100_000;
/// All rows together are eight times as large.
const MOST_KIB: usize = 16 * 1024;

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("a size")
}

#[tokio::test]
async fn a_large_transaction_takes_little_memory() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let ddl = "create table public.t (id int primary key, note text);
               create publication news for table t";
    admin.batch_execute(ddl).await.expect("a table");
    let mut session = Replication::connect(db.target()).await.expect("a session");
    let made = session.create_slot(db.name(), SlotLifetime::Permanent);
    made.await.expect("a slot");
    let fill =
        format!("insert into t select n, repeat('x', 1300) from generate_series(1, {ROWS}) n");
    admin.batch_execute(&fill).await.expect("rows");

    let before = resident_kib();
    let mut stream = session
        .start(db.name(), &["news"], Lsn::ZERO)
        .await
        .expect("a stream");
    // While the reader is idle, the server waits with the rest and nothing piles up here.
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event = 'WalSenderWriteData'";
    until(async || db.count(waiting).await == 1).await;
    let (mut count, mut most) = (0_u32, resident_kib());
    loop {
        let next = tokio::time::timeout(Duration::from_secs(60), stream.next());
        let data = next
            .await
            .expect("in time")
            .expect("a stream")
            .expect("no end");
        match Message::decode(data.data).expect("a message") {
            Message::Insert(insert) => {
                count += 1;
                assert_eq!(insert.new.values().len(), 2);
            }
            Message::Commit(_) => break,
            _ => {}
        }
        if count.is_multiple_of(1_000) {
            most = most.max(resident_kib());
        }
    }

    assert_eq!(count, ROWS);
    assert!(
        most - before.min(most) < MOST_KIB,
        "{before} KiB grew to {most} KiB"
    );
}
