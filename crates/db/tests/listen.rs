//! LISTEN that reconnects by itself.

use std::time::Duration;

use plinth_db::{ListenEvent, listen};
use plinth_testkit::TestDatabase;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn notifications_arrive_and_a_lost_connection_comes_back() {
    let db = TestDatabase::create().await;
    let stop = CancellationToken::new();
    let target = db.target().application_name("listening");
    let (mut heard, task) = listen(target, vec!["news".to_owned()], stop.clone());
    let next = async |heard: &mut tokio::sync::mpsc::Receiver<ListenEvent>| {
        tokio::time::timeout(Duration::from_secs(10), heard.recv())
            .await
            .expect("in time")
            .expect("open")
    };
    let admin = db.admin().await;

    assert_eq!(next(&mut heard).await, ListenEvent::Connected);
    admin
        .batch_execute("notify news, 'one'")
        .await
        .expect("sent");
    let one = ListenEvent::Notification {
        channel: "news".to_owned(),
        payload: "one".to_owned(),
    };
    assert_eq!(next(&mut heard).await, one);

    let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listening'
               and datname = current_database()";
    admin.batch_execute(end).await.expect("ended");
    assert_eq!(
        next(&mut heard).await,
        ListenEvent::Connected,
        "what was missed must be reloaded"
    );
    admin
        .batch_execute("notify news, 'two'")
        .await
        .expect("sent");
    let two = ListenEvent::Notification {
        channel: "news".to_owned(),
        payload: "two".to_owned(),
    };
    assert_eq!(next(&mut heard).await, two);

    stop.cancel();
    task.await.expect("it ends");
}
