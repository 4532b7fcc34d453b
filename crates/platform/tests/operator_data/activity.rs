//! Sessions of a project.

use http::Method;
use plinth_project::ProjectName;
use plinth_testkit::until;
use serde_json::Value;

use crate::{audited, get, path, platform_with};

#[tokio::test]
async fn only_sessions_of_the_project_are_shown_and_ended() {
    let app = platform_with("select 1").await;
    let other = app.project("Other").await;
    let own = app
        .open(&ProjectName::Default)
        .await
        .db
        .as_owner()
        .await
        .expect("a session");
    let foreign = app
        .open(&other)
        .await
        .db
        .as_owner()
        .await
        .expect("a session");
    let pid = async |client: &tokio_postgres::Client| -> i32 {
        client
            .query_one("select pg_backend_pid()", &[])
            .await
            .expect("a row")
            .get(0)
    };
    let (own_pid, foreign_pid) = (pid(&own).await, pid(&foreign).await);

    let sessions = get(&app, "activity").await.ok()["sessions"].clone();
    let sessions = sessions.as_array().expect("a list");
    let pids: Vec<&Value> = sessions.iter().map(|session| &session["pid"]).collect();
    assert!(
        pids.contains(&&own_pid.into()) && !pids.contains(&&foreign_pid.into()),
        "{pids:?}"
    );
    assert!(sessions.iter().all(|session| session["user"] != "postgres"));

    let end = async |pid: i32| {
        let target = path(&format!("activity/{pid}/terminate"));
        app.request(Method::POST, &target, None)
            .await
            .status
            .as_u16()
    };
    assert_eq!(end(foreign_pid).await, 404);
    assert_eq!(end(0).await, 404);
    assert_eq!(end(own_pid).await, 204);
    until(async || own.is_closed() || own.simple_query("").await.is_err()).await;
    assert!(foreign.simple_query("select 1").await.is_ok());
    assert_eq!(audited(&app, "activity.terminate").await.len(), 1);
    let target = path(&format!("activity/{foreign_pid}/cancel"));
    app.request(Method::POST, &target, None)
        .await
        .expect_status(404);
    app.request(Method::POST, &path("activity/x/cancel"), None)
        .await
        .expect_status(400);
}
