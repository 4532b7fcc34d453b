//! Projects: creation, pause, deletion, reset.

mod support;

use plinth_platform::PlatformError;
use plinth_project::{OpenError, ProjectName, ProjectStatus};
use plinth_testkit::{TestServer, until};
use support::TestPlatform;

fn reference(name: &ProjectName) -> String {
    name.to_string()
}

#[tokio::test]
async fn a_new_project_is_served_with_every_system_schema() {
    let app = TestPlatform::start().await;

    let name = app.project("Shop").await;

    let project = app.open(&name).await;
    let client = project.db.as_owner().await.expect("the owner connects");
    let row = client
        .query_one(
            "select current_user::text, session_user::text,
                    (select count(*) from pg_namespace
                     where nspname in ('auth', 'storage', 'realtime', 'extensions')),
                    has_schema_privilege('plinth', 'usage')",
            &[],
        )
        .await
        .expect("a row");
    assert_eq!(row.get::<_, &str>(0), "postgres");
    assert_eq!(
        row.get::<_, String>(1),
        format!("migrator_{}", reference(&name))
    );
    assert_eq!(row.get::<_, i64>(2), 4);
    assert!(
        !row.get::<_, bool>(3),
        "our own schema is closed to the owner"
    );
}

#[tokio::test]
async fn a_paused_project_keeps_its_data_and_rejects_requests() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    owner
        .batch_execute("create table public.kept (id int); insert into kept values (7)")
        .await
        .expect("a table");

    let row = app.platform.pause_project(&name).await.expect("paused");

    assert_eq!(row.status, ProjectStatus::Inactive);
    assert!(matches!(
        app.registry.get(&name).await,
        Err(OpenError::Paused(_))
    ));
    assert!(
        owner.batch_execute("select 1").await.is_err(),
        "open sessions are ended"
    );

    app.platform.resume_project(&name).await.expect("resumed");
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    assert_eq!(
        owner
            .query_one("select id from kept", &[])
            .await
            .expect("a row")
            .get::<_, i32>(0),
        7
    );
}

#[tokio::test]
async fn a_deleted_project_can_be_restored_until_it_is_purged() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;

    app.platform
        .delete_project(&name, false)
        .await
        .expect("into the trash");
    assert!(matches!(
        app.registry.get(&name).await,
        Err(OpenError::Unknown(_))
    ));
    app.platform
        .resume_project(&name)
        .await
        .expect("out of the trash");
    app.open(&name).await;

    app.platform
        .delete_project(&name, true)
        .await
        .expect("gone");
    assert!(matches!(
        app.platform.load_project(&name).await,
        Err(PlatformError::NotFound(_))
    ));
    let admin = TestServer::shared()
        .await
        .admin()
        .connect()
        .await
        .expect("the server");
    let left = admin
        .query_one(
            "select (select count(*) from pg_database where datname = $1)
                  + (select count(*) from pg_roles where rolname like '%\\_' || $1)",
            &[&reference(&name)],
        )
        .await
        .expect("a row");
    assert_eq!(
        left.get::<_, i64>(0),
        0,
        "neither database nor roles remain"
    );
}

#[tokio::test]
async fn the_trash_is_emptied_when_its_time_is_over() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    app.platform
        .delete_project(&name, false)
        .await
        .expect("into the trash");

    let removed = app.platform.empty_trash().await.expect("emptied");

    assert_eq!(removed, 1);
    assert!(matches!(
        app.platform.load_project(&name).await,
        Err(PlatformError::NotFound(_))
    ));
}

#[tokio::test]
async fn the_two_fixed_projects_cannot_be_deleted() {
    let app = TestPlatform::start().await;

    for name in [ProjectName::Platform, ProjectName::Default] {
        let result = app.platform.delete_project(&name, true).await;
        assert!(matches!(result, Err(PlatformError::Conflict(_))), "{name}");
    }
    let paused = app.platform.pause_project(&ProjectName::Platform).await;
    assert!(matches!(paused, Err(PlatformError::Conflict(_))));
}

#[tokio::test]
async fn a_reset_leaves_a_pristine_database() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    owner
        .batch_execute("create table public.gone (id int)")
        .await
        .expect("a table");

    app.platform.reset_database(&name).await.expect("a reset");

    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner again");
    let row = owner
        .query_one("select to_regclass('public.gone') is null", &[])
        .await
        .expect("a row");
    assert!(row.get::<_, bool>(0));
}

#[tokio::test]
async fn names_are_checked() {
    let app = TestPlatform::start().await;

    for bad in ["", "   ", &"x".repeat(257), "a\nb"] {
        let request = plinth_platform::ProjectRequest {
            name: bad.to_owned(),
            ..Default::default()
        };
        let result = app.platform.create_project(&request).await;
        assert!(matches!(result, Err(PlatformError::Invalid(_))), "{bad:?}");
    }
    app.project("Ünïcode 🏪 shop").await;
    app.project(&"x".repeat(256)).await;
}

#[tokio::test]
async fn a_reset_that_cannot_wait_any_longer_leaves_nothing_behind() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let busy = project
        .db
        .as_service(plinth_project::Service::Auth)
        .await
        .expect("a request");

    let rejected = app.platform.reset_database(&name).await;

    assert!(
        matches!(&rejected, Err(PlatformError::Conflict(text)) if text.contains("nothing was reset")),
        "{rejected:?}"
    );
    let server = TestServer::shared().await.admin();
    let server = server.connect().await.expect("the server");
    let left = server
        .query(
            "select from pg_database where datname = $1 || '_new'",
            &[&reference(&name)],
        )
        .await
        .expect("databases");
    assert!(left.is_empty());
    drop(busy);
    app.platform.reset_database(&name).await.expect("a reset");
}

/// Whether the project is being created, and a copy of the template was tried.
const HAS_FAILED: &str = "select
    exists (select from platform.projects where name = 'Patient' and status = 'COMING_UP')
    and exists (select from pg_stat_activity
                where state = 'idle' and query like 'create database % template %')";

#[tokio::test]
async fn a_template_that_is_being_replaced_is_waited_for() {
    let app = TestPlatform::start().await;
    let server = TestServer::shared().await.admin();
    let server = server.connect().await.expect("the server");
    // What a starting node of another version holds meanwhile.
    let away = "select pg_advisory_lock(7305820114271965);
                alter database plinth_template is_template false;
                alter database plinth_template rename to plinth_template_away";
    for sql in away.split(';') {
        server.batch_execute(sql).await.expect("the template goes");
    }

    let (made, ()) = tokio::join!(app.project("Patient"), async {
        let zero = app.platform.references().platform.as_str();
        let zero = TestServer::shared().await.admin().database(zero);
        let zero = zero.connect().await.expect("project zero");
        until(async || zero.query_one(HAS_FAILED, &[]).await.expect("a row").get(0)).await;
        let back = "alter database plinth_template_away rename to plinth_template;
                    alter database plinth_template is_template true;
                    select pg_advisory_unlock(7305820114271965)";
        for sql in back.split(';') {
            server
                .batch_execute(sql)
                .await
                .expect("the template is back");
        }
    });

    app.open(&made).await;
}

#[tokio::test]
async fn an_external_database_has_no_password_of_ours_and_is_never_shut_down() {
    let app = TestPlatform::start_external().await;
    let request = plinth_platform::ProjectRequest {
        name: "Shop".to_owned(),
        database_password: Some("chosen".into()),
        ..Default::default()
    };
    let rejected = app.platform.create_project(&request).await;
    assert!(
        matches!(&rejected, Err(PlatformError::Invalid(text)) if text.contains("no password")),
        "{rejected:?}"
    );
    let theirs = TestServer::shared()
        .await
        .admin()
        .database(&app.default_database);
    let session = theirs.connect().await.expect("their database");

    app.platform
        .pause_project(&ProjectName::Default)
        .await
        .expect("paused");

    assert!(matches!(
        app.registry.get(&ProjectName::Default).await,
        Err(OpenError::Paused(_))
    ));
    session
        .batch_execute("select 1")
        .await
        .expect("sessions of others go on");
    theirs.connect().await.expect("and new ones are let in");
    app.platform
        .resume_project(&ProjectName::Default)
        .await
        .expect("resumed");
    app.open(&ProjectName::Default).await;
}
