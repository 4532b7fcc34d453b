//! A server that stops and starts again: nothing is lost.

use std::{fs, os::unix::fs::PermissionsExt as _};

use plinth_db::{
    Target,
    replication::{
        Lsn, Replication, SlotLifetime,
        pgoutput::{Message, Tuple},
    },
};
use plinth_postgres::Server;
use tokio_postgres::Client;

use crate::support::*;

/// A folder that the server's unprivileged user can enter.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("opened");
    folder
}

async fn start(folder: &tempfile::TempDir) -> (Server, Target) {
    let mut options = plinth_testkit::server_options(folder.path().join("state"));
    options.system_dir = folder.path().join("system");
    let server = Server::start(options, |_| {}).await;
    let server = server.expect("a server of its own");
    let at = server.connection();
    let target = Target::unix(
        &at.socket_dir,
        at.port,
        &at.superuser,
        &at.password,
        "postgres",
    );
    (server, target)
}

async fn run(admin: &Client, sql: &str) {
    admin.batch_execute(sql).await.expect("SQL that works");
}

async fn follow(target: &Target, from: Lsn) -> Follower {
    let session = Replication::connect(target).await.expect("a session");
    let stream = session.start("kept", &[PUBLICATION], from).await;
    Follower(stream.expect("a stream"))
}

fn inserted(transaction: &Transaction) -> &Tuple {
    match &transaction.changes[..] {
        [Message::Insert(insert)] => &insert.new,
        other => panic!("one insert: {other:?}"),
    }
}

#[tokio::test]
async fn a_restart_of_the_server_loses_nothing() {
    let folder = open_folder();
    let (server, target) = start(&folder).await;
    let admin = target.connect().await.expect("a connection");
    run(&admin, "create table t (id int primary key)").await;
    let publish = format!("create publication {PUBLICATION} for table t");
    run(&admin, &publish).await;
    let mut session = Replication::connect(&target).await.expect("a session");
    let made = session.create_slot("kept", SlotLifetime::Permanent).await;
    made.expect("a slot");
    drop(session);
    let mut follower = follow(&target, Lsn::ZERO).await;
    run(&admin, "insert into t values (1)").await;
    run(&admin, "insert into t values (2)").await;
    drop(admin);

    // A shutting-down server waits for its readers, so the stream must be read on.
    let (mut confirmed, mut count) = (Lsn::ZERO, 0);
    let read_on = async {
        while let Ok(Some(data)) = follower.0.next().await {
            if let Ok(Message::Commit(commit)) = Message::decode(data.data) {
                confirmed = commit.end;
                count += 1;
                follower.0.confirm(confirmed);
            }
        }
    };
    tokio::join!(server.stop(TEST_TIMEOUT), with_timeout(read_on));

    let (server, target) = start(&folder).await;
    let admin = target.connect().await.expect("a connection");
    // The server lost the last confirmation; the reader passes its own position.
    let mut follower = follow(&target, confirmed).await;
    run(&admin, "insert into t values (3)").await;
    // A server that stops at once may send the last ones only now.
    for id in count + 1..=3 {
        let transaction = follower.transaction().await;
        assert_eq!(
            inserted(&transaction),
            &row(&[&id.to_string()]),
            "the others were confirmed"
        );
        if id == 2 {
            confirmed = transaction.commit.end;
        }
    }
    drop(follower);
    run(&admin, "insert into t values (4)").await;
    drop(admin);
    server.stop(TEST_TIMEOUT).await;

    let (server, target) = start(&folder).await;
    let mut follower = follow(&target, confirmed).await;
    assert_eq!(inserted(&follower.transaction().await), &row(&["3"]));
    assert_eq!(inserted(&follower.transaction().await), &row(&["4"]));
    drop(follower);
    server.stop(TEST_TIMEOUT).await;
}
