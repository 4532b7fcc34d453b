//! How many connections a project may have.

mod support;

use plinth_db::DbError;
use plinth_platform::Severity;
use plinth_project::{LoginKind, ProjectName, ProjectRef};
use plinth_testkit::{TestServer, until};
use support::{CONNECTIONS, TestPlatform};

fn reference(name: &ProjectName) -> ProjectRef {
    name.to_string().parse().expect("a ref")
}

async fn owner_password(app: &TestPlatform, name: &ProjectName) -> String {
    let url = app.platform.database_url(name).await.expect("a URL");
    let url = url::Url::parse(url.expose()).expect("a URL");
    url.password().expect("one").to_owned()
}

#[tokio::test]
async fn an_owner_who_takes_every_connection_is_limited_alone() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let limit = CONNECTIONS.owner.expect("a limit");
    let user = LoginKind::Owner.role_name(&reference(&one));
    let password = owner_password(&app, &one).await;
    let target = app
        .login(&user, &password, reference(&one).as_str())
        .await
        .application_name("greedy");

    let mut sessions = Vec::new();
    for _ in 0..limit {
        sessions.push(target.connect().await.expect("within the limit"));
    }
    let rejected = target.connect().await;

    assert!(matches!(rejected, Err(DbError::Full(_))), "{rejected:?}");
    let own = app.open(&one).await;
    own.db.as_owner().await.expect("migrations still run");
    own.db.as_login().await.expect("requests still run");
    let other = app.open(&two).await;
    other.db.as_owner().await.expect("others are not concerned");
    let checks = app.platform.run_checks().await.expect("checks");
    let warning = checks
        .iter()
        .find(|check| check.name == "connection limits");
    let warning = warning.expect("a check");
    assert_eq!(warning.severity, Severity::Warning);
    assert!(warning.message.contains(&user), "{}", warning.message);

    sessions.pop();
    until(async || target.connect().await.is_ok()).await;
}

#[tokio::test]
async fn logins_of_plinth_may_use_reserved_connections_and_owners_may_not() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let admin = TestServer::shared().await.connect().await;
    if app.platform.cluster().version_num < 160_000 {
        eprintln!("skipped: reserved_connections exists since PostgreSQL 16");
        return;
    }

    let sql = "select pg_has_role($1, 'pg_use_reserved_connections', 'usage'),
                      current_setting('reserved_connections')::int > 0";
    for kind in LoginKind::ALL {
        let row = admin
            .query_one(sql, &[&kind.role_name(&reference(&name))])
            .await
            .expect("a row");
        let serves_requests = !matches!(
            kind,
            LoginKind::Owner | LoginKind::Editor | LoginKind::Reader
        );
        assert_eq!(row.get::<_, bool>(0), serves_requests, "{kind:?}");
        assert!(row.get::<_, bool>(1));
    }
}

#[tokio::test]
async fn limits_of_an_earlier_start_are_replaced_when_a_project_opens() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let role = LoginKind::Owner.role_name(&reference(&name));
    let admin = TestServer::shared().await.connect().await;
    admin
        .batch_execute(&format!("alter role {role} connection limit -1"))
        .await
        .expect("an older project");

    app.open(&name).await;

    let sql = "select rolconnlimit from pg_roles where rolname = $1";
    let row = admin.query_one(sql, &[&role]).await.expect("a row");
    assert_eq!(
        row.get::<_, i32>(0).unsigned_abs(),
        CONNECTIONS.owner.expect("a limit")
    );
}
