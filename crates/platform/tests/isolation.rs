//! What the owner of one project cannot do to another project, or to Plinth.

mod support;

use plinth_db::Queries;
use plinth_platform::PlatformError;
use plinth_project::{LoginKind, ProjectName};
use plinth_testkit::TestServer;
use support::TestPlatform;

fn reference(name: &ProjectName) -> String {
    name.to_string()
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
async fn an_owner_cannot_become_another_role() {
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

    let mut auth = project
        .db
        .as_service(plinth_project::Service::Auth)
        .await
        .expect("the service");
    let rows = auth
        .query(
            "insert into auth.users (id) values (gen_random_uuid()) returning raw_user_meta_data->>'super'",
            &[],
        )
        .await;

    // Either Postgres rejects it, or the trigger became a role that is no superuser.
    if let Ok(rows) = rows {
        assert_eq!(rows[0].get::<_, &str>(0), "false");
    }
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
    app.platform.run_checks().await.expect("checked");
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
