//! Projects: creation, isolation, pause, deletion, branches, reset, healing.

mod support;

use plinth_platform::{BranchRequest, PlatformError};
use plinth_project::{LoginKind, OpenError, ProjectName, ProjectStatus};
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
async fn logins_reach_their_own_database_only() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let url = app.platform.database_url(&one).await.expect("a URL");
    let password = url::Url::parse(url.expose())
        .expect("a URL")
        .password()
        .expect("one")
        .to_owned();
    let user = LoginKind::Owner.role_name(&reference(&one).parse().expect("a ref"));

    let own = app.login(&user, &password, &reference(&one)).await;
    let other = app.login(&user, &password, &reference(&two)).await;
    let template = app.login(&user, &password, "plinth_template").await;
    let default = app.login(&user, &password, &app.default_database).await;

    assert!(own.connect().await.is_ok());
    for closed in [other, template, default] {
        let error = closed.connect().await.expect_err("no way in").to_string();
        assert!(
            error.contains("permission denied") || error.contains("not currently accepting"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_owner_cannot_become_anybody_else() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");

    for role in ["supabase_admin", "supabase_auth_admin"] {
        let error = owner.batch_execute(&format!("set role {role}")).await;
        assert!(error.is_err(), "{role}");
    }
    for sql in [
        "alter role supabase_admin password 'x'",
        "create database stolen",
        "alter system set work_mem = '1MB'",
        "copy (select 1) to program 'id'",
        "select pg_read_file('/etc/passwd')",
        "select * from plinth.migrations",
    ] {
        assert!(owner.batch_execute(sql).await.is_err(), "{sql}");
    }
    for role in ["anon", "authenticated", "service_role"] {
        owner
            .batch_execute(&format!("set role {role}; reset role"))
            .await
            .expect(role);
    }
}

#[tokio::test]
async fn a_trigger_on_auth_users_cannot_climb() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let owner = project.db.as_owner().await.expect("the owner");
    owner
        .batch_execute(
            "create function public.climb() returns trigger language plpgsql as $$
             begin
                 reset role;
                 new.raw_user_meta_data = jsonb_build_object(
                     'me', current_user, 'super', (select rolsuper from pg_roles where rolname = current_user));
                 return new;
             end $$;
             create trigger climb before insert on auth.users for each row execute function public.climb();",
        )
        .await
        .expect("users may have triggers");

    let auth = project
        .db
        .as_service(plinth_project::Service::Auth)
        .await
        .expect("the service");
    let row = auth
        .query_one(
            "insert into auth.users (id) values (gen_random_uuid()) returning raw_user_meta_data->>'super'",
            &[],
        )
        .await;

    // Either Postgres refuses, or the trigger became a role that is no superuser.
    if let Ok(row) = row {
        assert_eq!(row.get::<_, &str>(0), "false");
    }
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
    let healed = app.platform.heal(true).await.expect("healed");

    assert_eq!(healed.len(), 1, "{healed:?}");
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
async fn two_nodes_may_start_at_once() {
    let app = TestPlatform::start().await;
    let server = TestServer::shared().await;
    let start = || async {
        plinth_platform::Bootstrap {
            maintenance: server.admin(),
            default_database: plinth_platform::DefaultDatabase::Made("both_at_once".to_owned()),
            instance_key: support::copy_of(&app.instance_key),
            schemas: plinth_testkit::system_schemas(),
            given: Default::default(),
            default_owner_password: None,
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
    assert!(!has_next(&unused).await, "those that nobody uses wait");
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
            .as_service(plinth_project::Service::Auth)
            .await
            .expect("a connection"),
    );
    assert_eq!(sessions().await, 1);

    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    app.registry.close_idle(std::time::Duration::ZERO);

    for _ in 0..100 {
        if sessions().await == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(sessions().await, 0);
    app.open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("it wakes up");
}

#[tokio::test]
async fn stored_settings_reach_an_open_project_live() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let mut changes = project.settings().subscribe();
    assert_eq!(project.settings().current().integer("api.max_rows"), 1000);
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

    assert!(changes.has_changed().expect("open"), "services are told");
    changes.mark_unchanged();
    assert_eq!(project.settings().current().integer("api.max_rows"), 7);
}

#[tokio::test]
async fn functions_of_users_never_run_as_the_administrating_role() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let session = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("a session to be ended");
    let role = format!("climbed_{}", uuid::Uuid::new_v4().simple());
    let zero = TestServer::shared()
        .await
        .admin()
        .database(app.platform.references().platform.as_str());
    let trap = zero.connect().await.expect("project zero");
    // Better matches for what our own statements call, were they found.
    trap.batch_execute(&format!(
        "set role postgres;
         create function public.pg_terminate_backend(integer, integer) returns boolean
             language plpgsql as $$ begin create role {role} superuser; return true; end $$;
         create function public.shobj_description(oid, text) returns text
             language plpgsql as $$ begin create role {role} superuser; return null; end $$;"
    ))
    .await
    .expect("traps");

    app.platform.pause_project(&name).await.expect("paused");
    app.platform.examine().await.expect("examined");
    let app = app.restart().await;

    assert!(session.batch_execute("select 1").await.is_err());
    let admin = TestServer::shared()
        .await
        .admin()
        .connect()
        .await
        .expect("the server");
    let sql = "select exists (select from pg_roles where rolname = $1)";
    assert!(
        !admin
            .query_one(sql, &[&role])
            .await
            .expect("a row")
            .get::<_, bool>(0)
    );
    drop(app);
}

#[tokio::test]
async fn a_grant_in_another_project_does_not_hold_up_a_purge() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let owner = app.open(&one).await.db.as_owner().await.expect("the owner");
    let role = LoginKind::Owner.role_name(&reference(&two).parse().expect("a ref"));
    let sql = format!("create table t (id int); grant select on t to {role}");
    owner
        .batch_execute(&sql)
        .await
        .expect("a grant to a stranger");

    app.platform
        .delete_project(&two, true)
        .await
        .expect("purged all the same");

    assert!(matches!(
        app.platform.load_project(&two).await,
        Err(PlatformError::NotFound(_))
    ));
    let admin = TestServer::shared()
        .await
        .admin()
        .connect()
        .await
        .expect("the server");
    let sql = "select rolcanlogin from pg_roles where rolname = $1";
    let row = admin.query_opt(sql, &[&role]).await.expect("asked");
    assert!(
        row.is_none_or(|row| !row.get::<_, bool>(0)),
        "what is left of it is locked"
    );
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
        .examine()
        .await
        .expect("the doctor still works");
    app.platform
        .resume_project(&ProjectName::Default)
        .await
        .expect("resumed");
    app.open(&ProjectName::Default).await;
}
