//! Projects: creation, pause, deletion, branches, reset.

mod support;

use plinth_platform::{BranchRequest, PlatformError};
use plinth_project::{OpenError, ProjectName, ProjectStatus};
use plinth_testkit::TestServer;
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
        format!("owner_{}", reference(&name))
    );
    assert_eq!(row.get::<_, i64>(2), 4);
    assert!(
        !row.get::<_, bool>(3),
        "our own schema is closed to the owner"
    );
}

#[tokio::test]
async fn a_paused_project_keeps_its_data_and_lets_nobody_in() {
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
async fn a_branch_carries_schema_and_data_but_no_sessions() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let owner = project.db.as_owner().await.expect("the owner");
    owner
        .batch_execute(
            "create table public.items (id int); insert into items values (1), (2);
             insert into auth.users (id) values ('00000000-0000-0000-0000-000000000001');
             insert into auth.sessions (id, user_id) values
                 (gen_random_uuid(), '00000000-0000-0000-0000-000000000001');",
        )
        .await
        .expect("rows");
    drop(owner);
    let request = BranchRequest {
        name: "try".to_owned(),
        ..BranchRequest::default()
    };

    let branch = app
        .platform
        .create_branch(&name, &request)
        .await
        .expect("a branch");

    let copy = ProjectName::Ref(branch.reference.clone());
    let client = app
        .open(&copy)
        .await
        .db
        .as_owner()
        .await
        .expect("the branch's owner");
    let counts = client
        .query_one(
            "select (select count(*) from items), (select count(*) from auth.users),
                    (select count(*) from auth.sessions)",
            &[],
        )
        .await
        .expect("counts");
    assert_eq!(
        (
            counts.get::<_, i64>(0),
            counts.get::<_, i64>(1),
            counts.get::<_, i64>(2)
        ),
        (2, 1, 0)
    );
    let (theirs, ours) = (
        app.platform.legacy_keys(&copy).await.expect("keys"),
        app.platform.legacy_keys(&name).await.expect("keys"),
    );
    assert_ne!(
        theirs.jwt_secret, ours.jwt_secret,
        "a branch has secrets of its own"
    );

    let again = app.platform.create_branch(&name, &request).await;
    assert!(
        matches!(again, Err(PlatformError::Conflict(_))),
        "names are unique"
    );
    let deleted = app.platform.delete_project(&name, true).await;
    assert!(
        matches!(deleted, Err(PlatformError::Conflict(_))),
        "branches go first"
    );
}

#[tokio::test]
async fn a_foreign_session_on_the_source_is_named_or_ended() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let psql = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    psql.batch_execute("set application_name = 'psql'; begin")
        .await
        .expect("a session");
    let mut request = BranchRequest {
        name: "try".to_owned(),
        ..BranchRequest::default()
    };

    let refused = app
        .platform
        .create_branch(&name, &request)
        .await
        .expect_err("refused");
    assert!(refused.to_string().contains("psql"), "{refused}");
    assert!(
        app.platform
            .list_branches(&name)
            .await
            .expect("a list")
            .is_empty(),
        "nothing is left"
    );

    request.end_sessions = true;
    app.platform
        .create_branch(&name, &request)
        .await
        .expect("a branch");
    assert!(
        psql.batch_execute("select 1").await.is_err(),
        "the session was ended"
    );
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
