//! Logins that users' code changed are restored; the owner's own password is the owner's.

mod support;

use std::time::Duration;

use plinth_db::{DbError, Queries};
use plinth_platform::{PlatformError, owner_sql::rewrite};
use plinth_project::{LoginKind, Project, ProjectName, ProjectRef, Service, ServiceConnection};
use plinth_testkit::{TestServer, until};
use support::TestPlatform;
use tokio_postgres::Client;

fn reference(name: &ProjectName) -> ProjectRef {
    name.to_string().parse().expect("a ref")
}

async fn admin() -> Client {
    TestServer::shared().await.connect().await
}

/// Runs a statement inside a trigger on `auth.users`, in the session of the auth service.
async fn in_trigger(project: &Project, statement: &str) {
    let owner = project.db.as_owner().await.expect("the owner");
    let quoted = statement.replace('\'', "''");
    owner
        .batch_execute(&format!(
            "create or replace function public.lock_out() returns trigger language plpgsql as $$
             begin
                 set role none;
                 execute '{quoted}';
                 return new;
             end $$;
             create or replace trigger lock_out before insert on auth.users
                 for each row execute function public.lock_out();"
        ))
        .await
        .expect("a trigger");
    let mut auth = project
        .db
        .as_service(Service::Auth)
        .await
        .expect("the service");
    auth.batch_execute("insert into auth.users (id) values (gen_random_uuid())")
        .await
        .expect("every role may change its own password and settings");
    drop(auth);
    // The trigger has also changed the role of the pooled session.
    project.db.close();
    owner
        .batch_execute("drop function public.lock_out() cascade")
        .await
        .expect("dropped");
}

async fn can_work(project: &Project) -> Result<(), DbError> {
    let mut auth = project.db.as_service(Service::Auth).await?;
    auth.query("select 1", &[]).await?;
    drop(auth);
    project.db.as_login().await?;
    project.db.as_owner().await?;
    Ok(())
}

#[tokio::test]
async fn a_trigger_cannot_lock_plinth_out_of_a_project() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let login = LoginKind::Service.role_name(&reference(&name));

    in_trigger(&project, &format!("alter role {login} password 'taken'")).await;
    can_work(&project)
        .await
        .expect("restored when it is rejected");

    in_trigger(&project, &format!("alter role {login} password null")).await;
    app.registry.close(&reference(&name));
    let project = app.open(&name).await;
    can_work(&project).await.expect("restored when it opens");
}

#[tokio::test]
async fn settings_of_a_login_are_restored() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let login = LoginKind::Service.role_name(&reference(&name));

    for scope in ["", &format!(" in database {name}")] {
        let change = format!("alter role {login}{scope} set work_mem = '123kB'");
        in_trigger(&project, &change).await;
    }
    app.registry.close(&reference(&name));
    let project = app.open(&name).await;

    let mut auth = project.db.as_service(Service::Auth).await.expect("a login");
    let rows = auth
        .query("select current_setting('work_mem')", &[])
        .await
        .expect("a row");
    assert_ne!(rows[0].get::<_, &str>(0), "123kB");
}

/// Such settings reject no login, so nothing but the periodic check notices them.
#[tokio::test]
async fn settings_that_lock_plinth_out_of_an_open_project_are_undone() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let login = LoginKind::Service.role_name(&reference(&name));

    let settings = ["default_transaction_read_only = on", "work_mem = '123kB'"];
    for (done, setting) in settings.into_iter().enumerate() {
        in_trigger(&project, &format!("alter role {login} set {setting}")).await;
        // These sessions begin with the setting, and stay: one idle, one in use.
        let auth = project.db.as_service(Service::Auth).await;
        let mut auth = auth.expect("a login");
        let before = setting_of(&mut auth, setting).await;
        drop(project.db.as_service(Service::Auth).await.expect("another"));

        // A check that fails, such as for a timeout, is followed by another one.
        until(async || {
            app.platform.check_roles().await.expect("checked");
            repairs_of(&project, &login).len() > done
        })
        .await;

        drop(auth);
        let mut sessions = Vec::new();
        for _ in 0..2 {
            let auth = project.db.as_service(Service::Auth).await;
            let mut auth = auth.expect("a login");
            assert_ne!(setting_of(&mut auth, setting).await, before, "{setting}");
            sessions.push(auth);
        }
    }
    let mut auth = project.db.as_service(Service::Auth).await.expect("a login");
    auth.batch_execute("insert into auth.users (id) values (gen_random_uuid())")
        .await
        .expect("written");
    let message = format!("{login} had other settings");
    assert_eq!(repairs_of(&project, &login), [message.clone(), message]);
}

#[tokio::test]
async fn a_check_that_finds_nothing_leaves_pooled_connections_alone() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let pid = async || {
        let mut auth = project.db.as_service(Service::Auth).await.expect("a login");
        let rows = auth.query("select pg_backend_pid()", &[]).await;
        rows.expect("a row")[0].get::<_, i32>(0)
    };
    let before = pid().await;

    app.platform.check_roles().await.expect("checked");

    assert_eq!(pid().await, before);
}

/// A copy needs a database without sessions.
#[tokio::test]
async fn a_locked_database_is_not_checked() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let login = LoginKind::Migrator.role_name(&reference(&name));
    let _locked = project
        .db
        .lock(Duration::from_secs(60))
        .await
        .expect("locked");
    let sql = format!("alter role {login} set work_mem = '123kB'");
    admin().await.batch_execute(&sql).await.expect("changed");

    app.platform.check_roles().await.expect("skipped");

    assert_eq!(repairs_of(&project, &login), [""; 0]);
}

/// Without those of roles that other tests change.
fn repairs_of(project: &Project, login: &str) -> Vec<String> {
    let mut repairs = project.db.repairs();
    repairs.retain(|repair| repair.starts_with(login));
    repairs
}

/// What a session has, of a text such as `work_mem = '123kB'`.
async fn setting_of(session: &mut ServiceConnection, assignment: &str) -> String {
    let name = assignment.split(' ').next().unwrap_or_default();
    let sql = format!("select current_setting('{name}')");
    let rows = session.query(&sql, &[]).await;
    rows.expect("a row")[0].get(0)
}

#[tokio::test]
async fn every_login_is_restored_whatever_became_of_it() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let admin = admin().await;
    for change in [
        "nologin",
        "password 'taken'",
        "password null",
        "inherit",
        "createdb createrole",
        "valid until '2001-01-01'",
        "connection limit 0",
        "set role = 'none'",
    ] {
        for kind in LoginKind::ALL {
            let role = kind.role_name(&reference(&name));
            if kind == LoginKind::Owner && change.starts_with("password") {
                continue;
            }
            let sql = format!("alter role {role} {change}");
            admin.batch_execute(&sql).await.expect(change);
        }
        app.registry.close(&reference(&name));
        let project = app.open(&name).await;
        let worked = can_work(&project).await;
        assert!(worked.is_ok(), "{change}: {worked:?}");
        let sql = "select count(*) from pg_roles
                   where rolname like '%\\_' || $1 and (rolinherit or rolcreatedb or not rolcanlogin)";
        let row = admin.query_one(sql, &[&name.to_string()]).await;
        assert_eq!(row.expect("a row").get::<_, i64>(0), 0, "{change}");
    }
}

/// A session of the owner with this password, as over the database port.
async fn log_in(app: &TestPlatform, name: &ProjectName, password: &str) -> Result<Client, DbError> {
    let user = LoginKind::Owner.role_name(&reference(name));
    let target = app.login(&user, password, reference(name).as_str()).await;
    target.connect().await
}

async fn database_url(app: &TestPlatform, name: &ProjectName) -> String {
    let url = app.platform.database_url(name).await.expect("a URL");
    url.expose().to_owned()
}

#[tokio::test]
async fn an_owner_changes_the_password_of_its_own_database() {
    let app = TestPlatform::start().await;
    let (one, two) = (app.project("One").await, app.project("Two").await);
    let url = url::Url::parse(&database_url(&app, &one).await).expect("a URL");
    let old = url.password().expect("one").to_owned();
    let session = log_in(&app, &one, &old).await.expect("the first password");

    let sql = rewrite("alter user postgres with password 'it''s new'").expect("recognised");
    session.batch_execute(&sql).await.expect("changed");

    let rejected = log_in(&app, &one, &old).await;
    assert!(matches!(rejected, Err(DbError::LoginRejected(_))));
    log_in(&app, &one, "it's new").await.expect("the new one");
    let rejected = log_in(&app, &two, "it's new").await;
    assert!(rejected.is_err(), "it opens no other project");
    // Plinth itself does not depend on it, and does not change it back.
    app.registry.close(&reference(&one));
    let project = app.open(&one).await;
    can_work(&project).await.expect("everything goes on");
    log_in(&app, &one, "it's new")
        .await
        .expect("still the new one");
    let url = database_url(&app, &one).await;
    assert!(url.contains(":[YOUR-PASSWORD]@"), "{url}");
}

#[tokio::test]
async fn an_operator_sets_a_new_password() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;

    app.platform
        .set_database_password(&name, Some("by-operator"))
        .await
        .expect("set");

    log_in(&app, &name, "by-operator")
        .await
        .expect("the new one");
    assert!(database_url(&app, &name).await.contains(":by-operator@"));
    app.platform
        .set_database_password(&name, None)
        .await
        .expect("generated");
    let rejected = log_in(&app, &name, "by-operator").await;
    assert!(rejected.is_err());
    for bad in ["", "line\nbreak", &"x".repeat(257)] {
        let rejected = app.platform.set_database_password(&name, Some(bad)).await;
        assert!(
            matches!(rejected, Err(PlatformError::Invalid(_))),
            "{bad:?}"
        );
    }
}

#[tokio::test]
async fn a_password_of_the_shared_role_opens_nothing() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let owner = project.db.as_owner().await.expect("the owner");
    owner
        .batch_execute("do $$ begin execute 'alter role postgres password $x$taken$x$'; end $$")
        .await
        .expect("every role may change its own password");

    for database in [name.to_string(), app.default_database.clone()] {
        let target = app.login("postgres", "taken", &database).await;
        assert!(target.connect().await.is_err(), "{database}");
    }
}

#[tokio::test]
async fn a_login_that_was_dropped_is_made_again() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let role = LoginKind::Migrator.role_name(&reference(&name));
    let admin = admin().await;
    admin
        .batch_execute(&format!(
            "revoke connect on database {name} from {role}; drop role {role}"
        ))
        .await
        .expect("dropped");

    let project = app.open(&name).await;

    let owner = project
        .db
        .as_owner()
        .await
        .expect("the owner's work goes on");
    let sql = "select current_user::text || ' ' || session_user::text";
    let row = owner.query_one(sql, &[]).await.expect("a row");
    assert_eq!(row.get::<_, String>(0), format!("postgres {role}"));
}
