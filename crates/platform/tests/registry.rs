//! Open projects, live changes, and what a restart finds.

mod support;

use plinth_platform::PlatformError;
use plinth_project::{OpenError, ProjectName, Service};
use plinth_settings::keys;
use plinth_testkit::{TestServer, until};
use support::TestPlatform;

fn reference(name: &ProjectName) -> String {
    name.to_string()
}

#[tokio::test]
async fn a_restart_finds_everything_and_clears_half_made_projects() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let before = app.platform.references().clone();
    let keys = app
        .platform
        .legacy_keys(&ProjectName::Default)
        .await
        .expect("keys");
    // As a process leaves it that was killed between its steps.
    let half = app.project("Half").await;
    let admin = TestServer::shared()
        .await
        .admin()
        .database(before.platform.as_str());
    let admin = admin.connect().await.expect("project zero");
    admin
        .execute(
            "update platform.projects set status = 'COMING_UP' where ref = $1",
            &[&reference(&half)],
        )
        .await
        .expect("an update");

    let app = app.restart().await;
    let recovered = app.platform.recover(true).await.expect("recovered");

    assert_eq!(recovered.len(), 1, "{recovered:?}");
    assert_eq!(app.platform.references().default, before.default);
    app.open(&name).await;
    assert!(matches!(
        app.platform.load_project(&half).await,
        Err(PlatformError::NotFound(_))
    ));
    let after = app
        .platform
        .legacy_keys(&ProjectName::Default)
        .await
        .expect("keys");
    assert_eq!(after.anon, keys.anon, "keys survive");
}

#[tokio::test]
async fn two_nodes_may_start_at_once() {
    let app = TestPlatform::start().await;
    let server = TestServer::shared().await;
    let start = || async {
        plinth_platform::Bootstrap {
            maintenance: server.admin(),
            default_database: plinth_platform::DefaultDatabase::Managed("both_at_once".to_owned()),
            instance_key: support::copy_of(&app.instance_key),
            schemas: plinth_testkit::system_schemas(),
            configured_keys: Default::default(),
            default_owner_password: None,
            connections: support::CONNECTIONS,
            isolates_by_default: false,
            second_factor: Default::default(),
            trash: std::time::Duration::ZERO,
            logs: app.logs.clone(),
        }
        .run()
        .await
        .expect("a prepared cluster")
    };

    let (one, two) = tokio::join!(start(), start());

    assert_eq!(one.references().platform, two.references().platform);
    assert_eq!(one.references().default, two.references().default);
}

#[tokio::test]
async fn a_database_is_brought_up_to_date_when_it_first_serves() {
    use plinth_db::migrate::{Migration, MigrationSet};
    const NEXT: MigrationSet = MigrationSet {
        service: "next",
        migrations: &[Migration {
            version: 1,
            name: "next",
            sql: "create table public.next (id int)",
        }],
    };
    let app = TestPlatform::start().await;
    let (used, unused) = (app.project("Used").await, app.project("Unused").await);
    let upgraded = app.registry_with(NEXT).await;
    let has_next = async |name: &ProjectName| {
        let target = TestServer::shared()
            .await
            .admin()
            .database(&reference(name));
        let client = target.connect().await.expect("the database");
        let row = client
            .query_one("select to_regclass('public.next') is not null", &[])
            .await;
        row.expect("a row").get::<_, bool>(0)
    };

    upgraded.get(&used).await.expect("the project opens");

    assert!(has_next(&used).await);
    assert!(!has_next(&unused).await, "migrated when it is opened");
}

#[tokio::test]
async fn an_idle_project_holds_no_connection() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sessions = async || {
        let admin = TestServer::shared()
            .await
            .admin()
            .connect()
            .await
            .expect("the server");
        let sql = "select count(*) from pg_stat_activity where datname = $1";
        admin
            .query_one(sql, &[&reference(&name)])
            .await
            .expect("a count")
            .get::<_, i64>(0)
    };
    let project = app.open(&name).await;
    drop(
        project
            .db
            .as_service(Service::Auth)
            .await
            .expect("a connection"),
    );
    assert_eq!(sessions().await, 1);

    // Times of use are whole seconds, so this takes up to one.
    until(async || {
        app.registry.close_idle(std::time::Duration::ZERO);
        project.closed().is_cancelled()
    })
    .await;
    until(async || sessions().await == 0).await;
    app.open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("it wakes up");
}

#[tokio::test]
async fn a_project_with_a_request_in_flight_is_not_idle() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let other = app.project("Other").await;
    let (project, other) = (app.open(&name).await, app.open(&other).await);
    let connect = async || project.db.as_service(Service::Auth).await;
    let in_flight = connect().await.expect("a connection");

    // Times of use are whole seconds, so this takes up to one.
    until(async || {
        app.registry.close_idle(std::time::Duration::ZERO);
        other.closed().is_cancelled()
    })
    .await;
    assert!(!project.closed().is_cancelled());
    drop(connect().await.expect("a connection"));

    drop(in_flight);
    until(async || {
        app.registry.close_idle(std::time::Duration::ZERO);
        project.closed().is_cancelled()
    })
    .await;
}

#[tokio::test]
async fn stored_settings_reach_an_open_project_live() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let mut changes = project.settings().subscribe();
    assert_eq!(project.settings().current().get(keys::api::MAX_ROWS), 1000);
    let zero = TestServer::shared()
        .await
        .admin()
        .database(app.platform.references().platform.as_str());
    let client = zero.connect().await.expect("project zero");
    let sql = "update platform.projects set settings = '{\"api.max_rows\": 7}' where ref = $1";
    client
        .execute(sql, &[&reference(&name)])
        .await
        .expect("stored");

    app.registry.refresh(project.reference()).await;

    assert!(
        changes.has_changed().expect("open"),
        "services are notified"
    );
    changes.mark_unchanged();
    assert_eq!(project.settings().current().get(keys::api::MAX_ROWS), 7);
}

#[tokio::test]
async fn a_paused_default_project_is_no_obstacle_to_a_restart() {
    let app = TestPlatform::start().await;
    app.platform
        .pause_project(&ProjectName::Default)
        .await
        .expect("paused");

    let app = app.restart().await;

    assert!(matches!(
        app.registry.get(&ProjectName::Default).await,
        Err(OpenError::Paused(_))
    ));
    app.platform
        .run_checks()
        .await
        .expect("the doctor still works");
    app.platform
        .resume_project(&ProjectName::Default)
        .await
        .expect("resumed");
    app.open(&ProjectName::Default).await;
}

/// Looks projects up in the platform, and returns the result only when `go_on` permits.
struct SlowDirectory {
    platform: plinth_platform::Platform,
    found: tokio::sync::Notify,
    go_on: tokio::sync::Semaphore,
}

impl plinth_project::Directory for SlowDirectory {
    fn find<'a>(
        &'a self,
        name: &'a ProjectName,
    ) -> plinth_project::BoxFuture<
        'a,
        Result<Option<plinth_project::ProjectRecord>, plinth_project::DirectoryError>,
    > {
        Box::pin(async move {
            let record = self.platform.find(name).await;
            self.found.notify_one();
            let _turn = self.go_on.acquire().await.expect("never closed");
            record
        })
    }
}

#[tokio::test]
async fn a_key_that_changes_while_a_project_opens_is_not_missed() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let directory = std::sync::Arc::new(SlowDirectory {
        platform: app.platform.clone(),
        found: tokio::sync::Notify::new(),
        go_on: tokio::sync::Semaphore::new(0),
    });
    let registry = app.registry_over(directory.clone()).await;
    let old = app.platform.legacy_keys(&name).await.expect("keys").anon;

    let opening = tokio::spawn({
        let (registry, name) = (registry.clone(), name.clone());
        async move { registry.get(&name).await }
    });
    directory.found.notified().await;
    // What was found is out of date from here on, and its announcement finds nothing open.
    app.platform.rotate_legacy(&name).await.expect("rotated");
    let reference: plinth_project::ProjectRef = reference(&name).parse().expect("a ref");
    registry.refresh(&reference).await;
    directory.go_on.add_permits(100);
    let project = opening.await.expect("no panic").expect("it opens");

    let new = app.platform.legacy_keys(&name).await.expect("keys").anon;
    assert!(TestPlatform::caller(&project, old.expose()).is_err());
    assert!(TestPlatform::caller(&project, new.expose()).is_ok());
}
