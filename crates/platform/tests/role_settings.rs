//! Settings of roles that all projects share hold for the project that made them.

mod support;

use plinth_platform::{Severity, owner_sql::rewrite};
use plinth_project::{LoginKind, ProjectName, ProjectRef, RoleSettingsSource};
use plinth_testkit::TestServer;
use support::TestPlatform;
use tokio_postgres::Client;

fn reference(name: &ProjectName) -> ProjectRef {
    name.to_string().parse().expect("a ref")
}

async fn admin() -> Client {
    TestServer::shared().await.connect().await
}

async fn owner(app: &TestPlatform, name: &ProjectName) -> Client {
    let opened = app.open(name).await.db.as_owner().await;
    opened.expect("the owner")
}

/// As a client over the database port.
async fn run(client: &Client, sql: &str) -> Result<(), String> {
    let rewritten = rewrite(sql).unwrap_or_else(|| panic!("not recognised: {sql}"));
    let done = client.batch_execute(&rewritten).await;
    done.map_err(|error| plinth_db::describe(&error))
}

/// The settings of a role that callers of the project get.
async fn settings(app: &TestPlatform, name: &ProjectName, role: &str) -> String {
    let project = app.open(name).await;
    assert_eq!(
        project.db.role_settings_source(),
        RoleSettingsSource::Project
    );
    let login = project.db.as_login().await.expect("the callers' login");
    let sql = "select coalesce(string_agg(name || '=' || value, ' ' order by name), '')
               from plinth_roles.settings where role = $1";
    login.query_one(sql, &[&role]).await.expect("a row").get(0)
}

#[tokio::test]
async fn a_project_begins_with_the_timeouts_of_the_hosted_service() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;

    for (role, expected) in [
        ("anon", "statement_timeout=3s"),
        ("authenticated", "statement_timeout=8s"),
        ("authenticator", "statement_timeout=8s"),
        ("service_role", ""),
    ] {
        assert_eq!(settings(&app, &name, role).await, expected, "{role}");
    }
}

#[tokio::test]
async fn settings_hold_for_one_project_alone() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let client = owner(&app, &one).await;

    for sql in [
        "alter role anon set statement_timeout = '30s'",
        "alter user anon set search_path = \"Odd, name\", public",
        "alter role anon set datestyle to 'ISO, DMY'",
        "alter role anon set pgrst.anything = 'a=b'",
    ] {
        run(&client, sql).await.expect(sql);
    }

    let all = settings(&app, &one, "anon").await;
    for setting in [
        "DateStyle=ISO, DMY",
        "pgrst.anything=a=b",
        "search_path=\"Odd, name\", public",
        "statement_timeout=30s",
    ] {
        assert!(all.contains(setting), "{setting}: {all}");
    }
    assert_eq!(settings(&app, &two, "anon").await, "statement_timeout=3s");

    for sql in [
        "alter role anon set datestyle to default",
        "alter role anon reset pgrst.anything",
        "alter role anon reset Search_Path",
    ] {
        run(&client, sql).await.expect(sql);
    }
    assert_eq!(settings(&app, &one, "anon").await, "statement_timeout=30s");
    run(&client, "alter role anon reset all")
        .await
        .expect("reset");
    assert_eq!(settings(&app, &one, "anon").await, "");
}

#[tokio::test]
async fn a_rolled_back_setting_was_never_made() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let client = owner(&app, &name).await;

    client.batch_execute("begin").await.expect("begun");
    run(&client, "alter role anon set statement_timeout = '30s'")
        .await
        .expect("made");
    client.batch_execute("rollback").await.expect("rolled back");

    assert_eq!(settings(&app, &name, "anon").await, "statement_timeout=3s");
}

#[tokio::test]
async fn only_what_every_session_may_set_is_set() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let client = owner(&app, &name).await;
    let denied = "permission denied";
    let unknown = "unrecognized configuration parameter";

    for (setting, expected) in [
        ("session_preload_libraries = 'x'", denied),
        ("log_statement = 'all'", denied),
        ("plperl.on_init = 'x'", denied),
        ("pgcrypto.anything = 'x'", denied),
        ("shared_buffers = '1GB'", denied),
        ("nonsense = 'x'", unknown),
        ("role = 'postgres'", unknown),
        (
            "\"a\"\"; drop\" = 'x'",
            "invalid configuration parameter name",
        ),
        ("statement_timeout = 'soon'", "invalid value"),
        ("statement_timeout = 1, 2", "takes only one argument"),
    ] {
        let sql = format!("alter role anon set {setting}");
        let error = run(&client, &sql).await.expect_err(setting);
        assert!(error.contains(expected), "{setting}: {error}");
    }
    assert_eq!(settings(&app, &name, "anon").await, "statement_timeout=3s");
}

#[tokio::test]
async fn callers_and_services_cannot_change_settings() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let login = project.db.as_login().await.expect("the callers' login");

    let sql = "set role anon; select plinth_roles.set_setting('anon', 'work_mem', array['1MB'])";
    let error = login.batch_execute(sql).await.expect_err("not theirs");

    let error = plinth_db::describe(&error);
    assert!(error.contains("permission denied to alter role"), "{error}");
    for sql in [
        "insert into plinth_roles.settings values ('anon', 'a.b', 'c')",
        "delete from plinth_roles.settings",
    ] {
        let rejected = owner(&app, &name).await.batch_execute(sql).await;
        assert!(rejected.is_err(), "{sql}");
    }
}

/// Settings and role of a new session of the owner.
async fn owners_session(app: &TestPlatform, name: &ProjectName) -> String {
    let url = app.platform.database_url(name).await.expect("a URL");
    let url = url::Url::parse(url.expose()).expect("a URL");
    let user = LoginKind::Owner.role_name(&reference(name));
    let password = url.password().expect("one");
    let target = app.login(&user, password, reference(name).as_str()).await;
    let client = target.connect().await.expect("a session");
    let show = "select concat_ws(' ', current_setting('statement_timeout'),
                       current_setting('work_mem'), current_user)";
    client.query_one(show, &[]).await.expect("a row").get(0)
}

#[tokio::test]
async fn settings_of_postgres_hold_in_the_owners_sessions() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let client = owner(&app, &one).await;

    for sql in [
        "alter role postgres set statement_timeout = '77s'",
        "alter role current_user set work_mem = '7MB'",
    ] {
        run(&client, sql).await.expect(sql);
    }

    assert_eq!(owners_session(&app, &one).await, "77s 7MB postgres");
    let other = owners_session(&app, &two).await;
    assert!(!other.starts_with("77s"), "{other}");

    run(&client, "alter role postgres reset all")
        .await
        .expect("reset");
    assert_eq!(owners_session(&app, &one).await, other);
}

#[tokio::test]
async fn changes_behind_plinths_back_have_no_effect_and_are_undone() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let attacker = owner(&app, &one).await;
    // What a function does is not rewritten.
    attacker
        .batch_execute(&format!(
            "do $$ begin
                 set role anon;
                 alter role anon set datestyle = 'German';
                 alter role anon in database {two} set statement_timeout = '1ms';
                 alter role anon password 'taken';
                 reset role;
                 alter role postgres set search_path = 'nowhere';
             end $$"
        ))
        .await
        .expect("every role may change itself");

    assert_eq!(settings(&app, &two, "anon").await, "statement_timeout=3s");

    // Also after it was closed.
    app.registry.close(&reference(&two));
    let checks = app.platform.run_checks().await.expect("checks");

    let left = "select count(*) from pg_db_role_setting s
                left join pg_database d on d.oid = s.setdatabase
                where s.setrole in ('anon'::regrole, 'postgres'::regrole)
                  and (s.setdatabase = 0 or d.datname = $1)";
    let row = admin().await.query_one(left, &[&two.to_string()]).await;
    assert_eq!(row.expect("a row").get::<_, i64>(0), 0);
    let warning = checks
        .iter()
        .find(|check| check.name == "roles")
        .expect("a check");
    assert_eq!(warning.severity, Severity::Warning);
    let here = format!("statement_timeout of role anon in this database ({two})");
    assert!(warning.message.contains(&here), "{}", warning.message);
}
