//! Branches: both ways of copying, what is carried over, what is left when one fails.

mod support;

use std::time::Duration;

use plinth_platform::{
    Branch, BranchChanges, BranchRequest, CopyMethod, Job, JobState, PlatformError,
};
use plinth_project::{ProjectName, ProjectStatus};
use plinth_testkit::TestServer;
use support::TestPlatform;
use tokio_postgres::Client;

fn request(name: &str) -> BranchRequest {
    BranchRequest {
        name: name.to_owned(),
        ..BranchRequest::default()
    }
}

fn name_of(branch: &Branch) -> ProjectName {
    ProjectName::Ref(branch.reference.clone())
}

async fn owner(app: &TestPlatform, name: &ProjectName) -> Client {
    app.open(name).await.db.as_owner().await.expect("the owner")
}

async fn server() -> Client {
    let admin = TestServer::shared().await.admin();
    admin.connect().await.expect("the server")
}

#[tokio::test]
async fn a_branch_has_a_name_of_its_own() {
    let app = TestPlatform::start().await;
    let parent = app.project("Shop").await;
    let one = app.platform.create_branch(&parent, &request("one")).await;
    let one = one.expect("a branch");
    let two = app.platform.create_branch(&parent, &request("two")).await;
    two.expect("another");
    let rename = async |name: &str| {
        let changes = BranchChanges {
            name: Some(name.to_owned()),
            ..BranchChanges::default()
        };
        let id = one.reference.as_str();
        app.platform.update_branch(id, &changes).await
    };

    let taken = rename("two").await.unwrap_err();
    assert!(matches!(taken, PlatformError::Conflict(_)), "{taken:?}");
    let main = rename("main").await.unwrap_err();
    assert!(matches!(main, PlatformError::Invalid(_)), "{main:?}");
    let main = app.platform.create_branch(&parent, &request("main")).await;
    let main = main.unwrap_err();
    assert!(matches!(main, PlatformError::Invalid(_)), "{main:?}");
    assert_eq!(rename("three").await.expect("renamed").name, "three");
}

/// A psql session with an open transaction.
async fn psql(app: &TestPlatform, name: &ProjectName) -> Client {
    let psql = owner(app, name).await;
    psql.batch_execute("set application_name = 'psql'; begin")
        .await
        .expect("a session");
    psql
}

/// The job of a branch, once it has ended.
async fn ended(app: &TestPlatform, branch: &Branch) -> Job {
    let id = branch.job.expect("a job");
    let wait = async {
        loop {
            let job = app.platform.load_job(id).await.expect("the job");
            if !matches!(job.state, JobState::Queued | JobState::Running) {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait)
        .await
        .expect("it ends")
}

async fn value(client: &Client, sql: &str) -> String {
    let row = client.query_one(sql, &[]).await;
    row.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
        .get(0)
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
async fn sessions_of_others_are_ended_when_that_is_asked_for() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let psql = psql(&app, &name).await;
    let request = BranchRequest {
        end_sessions: true,
        ..request("try")
    };

    let branch = app
        .platform
        .create_branch(&name, &request)
        .await
        .expect("a branch");

    assert_eq!(branch.copy_method, Some(CopyMethod::Copied));
    assert!(
        psql.batch_execute("select 1").await.is_err(),
        "the session was ended"
    );
}

#[tokio::test]
async fn a_project_in_use_is_dumped_and_restored_while_its_sessions_go_on() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let client = owner(&app, &name).await;
    client
        .batch_execute(
            "create table public.items (id int primary key); insert into items values (1), (2);
             insert into auth.users (id) values ('00000000-0000-0000-0000-000000000001');
             insert into auth.sessions (id, user_id) values
                 (gen_random_uuid(), '00000000-0000-0000-0000-000000000001');
             alter table items enable row level security;
             create policy p on items using (auth.uid() is not null)",
        )
        .await
        .expect("rows");
    drop(client);
    let psql = psql(&app, &name).await;

    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");

    assert_eq!(branch.status, ProjectStatus::ComingUp);
    assert_eq!(branch.copy_method, Some(CopyMethod::Dumped));
    let reason = branch.copy_reason.clone().expect("a reason");
    assert!(reason.contains("psql"), "{reason}");
    let job = ended(&app, &branch).await;
    assert_eq!((job.state, job.error), (JobState::Succeeded, None));
    psql.batch_execute("insert into items values (3); commit")
        .await
        .expect("the session was left alone");
    let copy = owner(&app, &name_of(&branch)).await;
    let counts = "select format('%s %s %s %s', (select count(*) from items),
                                (select count(*) from auth.users),
                                (select count(*) from auth.sessions),
                                (select count(*) from pg_policy where polname = 'p'))";
    assert_eq!(value(&copy, counts).await, "2 1 0 1");
    let roles = "select string_agg(rolname, ' ' order by rolname) from pg_roles
                 where rolname like '%\\_' || current_database()";
    let reference = &branch.reference;
    let logins = ["authenticator", "migrator", "owner", "service"]
        .map(|kind| format!("{kind}_{reference}"))
        .join(" ");
    assert_eq!(value(&copy, roles).await, logins, "the loader is gone");
    let listed = app.platform.list_branches(&name).await.expect("a list");
    assert_eq!(listed[0].status, ProjectStatus::ActiveHealthy);
    let (theirs, ours) = (
        app.platform
            .legacy_keys(&name_of(&branch))
            .await
            .expect("keys"),
        app.platform.legacy_keys(&name).await.expect("keys"),
    );
    assert_ne!(theirs.jwt_secret, ours.jwt_secret);
}

#[tokio::test]
async fn requests_that_do_not_end_are_not_waited_for() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let _busy = project
        .db
        .as_service(plinth_project::Service::Auth)
        .await
        .expect("a request");

    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");

    let reason = branch.copy_reason.clone().expect("a reason");
    assert!(reason.contains("did not end within 2 seconds"), "{reason}");
    assert_eq!(ended(&app, &branch).await.state, JobState::Succeeded);
}

#[tokio::test]
async fn a_branch_is_one_moment_of_a_source_that_is_written_to() {
    let app = TestPlatform::start().await;
    let name = app.project("Bank").await;
    let writer = owner(&app, &name).await;
    writer
        .batch_execute(
            "set application_name = 'writer'; create table here (id int primary key, amount int); create table there (like here);
             insert into here select n, 100 from generate_series(1, 20000) n;
             insert into there values (1, 0)",
        )
        .await
        .expect("tables");
    let stop = tokio_util::sync::CancellationToken::new();
    let writing = stop.clone();
    let writes = tokio::spawn(async move {
        let mut count = 0;
        while !writing.is_cancelled() {
            writer
                .batch_execute(
                    "begin; update here set amount = amount - 1 where id = 1;
                     update there set amount = amount + 1; commit",
                )
                .await
                .expect("a write");
            count += 1;
        }
        count
    });

    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");
    assert_eq!(branch.copy_method, Some(CopyMethod::Dumped));
    assert_eq!(ended(&app, &branch).await.state, JobState::Succeeded);
    stop.cancel();

    assert!(writes.await.expect("the writer ends") > 10);
    let copy = owner(&app, &name_of(&branch)).await;
    let sum = "select ((select sum(amount) from here) + (select sum(amount) from there))::text";
    assert_eq!(value(&copy, sum).await, "2000000");
}

#[tokio::test]
async fn both_ways_copy_settings_and_grants_of_the_database() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let role = format!("reader_{}", uuid::Uuid::new_v4().simple());
    server()
        .await
        .batch_execute(&format!(
            "create role {role};
             grant connect on database {name} to {role};
             alter database {name} set search_path = \"odd, schema\", public;
             alter database {name} set app.motto = 'it''s';"
        ))
        .await
        .expect("settings");
    owner(&app, &name)
        .await
        .batch_execute("select plinth_roles.set_setting('anon', 'statement_timeout', array['7s'])")
        .await
        .expect("a setting of a role");
    let facts = format!(
        "select concat_ws(' | ', current_setting('app.motto'), current_setting('search_path'),
                has_database_privilege('{role}', current_database(), 'connect'),
                (select setconfig::text from pg_db_role_setting s
                 join pg_database d on d.oid = s.setdatabase
                 where d.datname = current_database() and s.setrole = 'anon'::regrole),
                (select value from plinth_roles.settings where role = 'anon'),
                has_database_privilege('owner_{name}', current_database(), 'connect'))"
    );
    let expected = "it's | \"odd, schema\", public | t | {statement_timeout=7s} | 7s | f";

    let copied = app
        .platform
        .create_branch(&name, &request("copied"))
        .await
        .expect("a branch");
    let psql = psql(&app, &name).await;
    let dumped = app
        .platform
        .create_branch(&name, &request("dumped"))
        .await
        .expect("a branch");
    ended(&app, &dumped).await;
    drop(psql);

    assert_eq!(copied.copy_method, Some(CopyMethod::Copied));
    assert_eq!(dumped.copy_method, Some(CopyMethod::Dumped));
    for branch in [copied, dumped] {
        let client = owner(&app, &name_of(&branch)).await;
        assert_eq!(value(&client, &facts).await, expected, "{}", branch.name);
    }
}

#[tokio::test]
async fn functions_of_the_user_never_run_as_the_administrator() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let client = owner(&app, &name).await;
    client
        .batch_execute(
            "create table seen (who text);
             create function spy(n int) returns int language plpgsql as $$
             begin
                 begin reset role; exception when others then null; end;
                 insert into public.seen
                 select session_user || ' ' || rolsuper from pg_catalog.pg_roles
                 where rolname = current_user;
                 return n;
             end $$;
             create function claims_immutable(n int) returns int immutable language plpgsql as
                 'begin return public.spy(n); end';
             create domain spied as int check (spy(value) is not null);
             create table traps (
                 a int check (spy(a) is not null), b spied,
                 c int generated always as (claims_immutable(a)) stored
             );
             insert into traps (a, b) values (1, 1);
             create index trap on traps (claims_immutable(a));
             create materialized view watched as select spy(a) from traps;
             truncate seen;",
        )
        .await
        .expect("traps");
    drop(client);
    let _psql = psql(&app, &name).await;

    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");

    let job = ended(&app, &branch).await;
    assert_eq!((job.state, job.error), (JobState::Succeeded, None));
    let copy = owner(&app, &name_of(&branch)).await;
    let supers =
        "select coalesce(string_agg(distinct who, ','), 'none') from seen where who like '% true'";
    // Postgres itself computes indexes and materialized views as their owner, and lets nobody
    // leave that role; the session is still the administrator's.
    let by_loader = "select count(*)::text from seen where who like 'loader\\_% false'";
    assert_eq!(value(&copy, supers).await, "none");
    assert_ne!(value(&copy, by_loader).await, "0", "the traps were sprung");
}

#[tokio::test]
async fn what_cannot_be_written_down_fails_the_branch_and_says_why() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let admin = app
        .open(&name)
        .await
        .db
        .as_admin()
        .await
        .expect("the admin");
    admin
        .batch_execute("create type public.\"Half made\"")
        .await
        .expect("a shell");
    drop(admin);
    let psql = psql(&app, &name).await;

    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a row");
    let job = ended(&app, &branch).await;

    assert_eq!(job.state, JobState::Failed);
    let reason = job.error.expect("a reason");
    assert!(reason.contains("Half made"), "{reason}");
    let listed = app.platform.list_branches(&name).await.expect("a list");
    assert_eq!(listed[0].failure.as_deref(), Some(reason.as_str()));
    let left = "select count(*)::text from pg_database where datname = $1";
    let left = server()
        .await
        .query_one(left, &[&branch.reference.as_str()])
        .await;
    assert_eq!(left.expect("a count").get::<_, String>(0), "0");
    let resumed = app.platform.resume_project(&name_of(&branch)).await;
    assert!(
        matches!(resumed, Err(PlatformError::Conflict(_))),
        "{resumed:?}"
    );

    drop(psql);
    let wait = async {
        loop {
            let again = app.platform.create_branch(&name, &request("try")).await;
            let again = again.expect("a branch");
            if again.copy_method == Some(CopyMethod::Copied) {
                return;
            }
            ended(&app, &again).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .expect("the quick copy needs no words for it");
    let listed = app.platform.list_branches(&name).await.expect("a list");
    assert_eq!(listed.len(), 1, "the failed attempt is not kept");
}

#[tokio::test]
async fn a_killed_dump_is_cleared_away_by_the_next_start() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let _psql = psql(&app, &name).await;
    let branch = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");
    ended(&app, &branch).await;
    let reference = branch.reference.as_str().to_owned();
    // As a process leaves it that was killed between its steps.
    let zero = TestServer::shared()
        .await
        .admin()
        .database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    zero.batch_execute(&format!(
        "update platform.projects set status = 'COMING_UP', created_at = now() - interval '1 hour'
         where ref = '{reference}';
         update platform.jobs set state = 'running', updated_at = now();
         create role loader_{reference}; grant connect on database {reference} to loader_{reference}"
    ))
    .await
    .expect("an update");

    let others = app.platform.recover(false).await.expect("recovered");
    assert!(
        others.is_empty(),
        "a job that reports is not abandoned: {others:?}"
    );
    let recovered = app.platform.recover(true).await.expect("recovered");

    assert_eq!(recovered.len(), 1, "{recovered:?}");
    let left = "select (select count(*) from pg_database where datname = $1)
                     + (select count(*) from pg_roles where rolname like '%\\_' || $1)";
    let left = server().await.query_one(left, &[&reference]).await;
    assert_eq!(left.expect("a count").get::<_, i64>(0), 0);
    let job = app.platform.load_job(branch.job.expect("a job")).await;
    assert_eq!(job.expect("the job").state, JobState::Failed);
}

#[tokio::test]
async fn a_branch_in_the_trash_leaves_its_name_to_others() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let first = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("a branch");
    app.platform
        .delete_project(&name_of(&first), false)
        .await
        .expect("into the trash");

    let second = app
        .platform
        .create_branch(&name, &request("try"))
        .await
        .expect("another one of that name");

    let restored = app.platform.resume_project(&name_of(&first)).await;
    assert!(
        matches!(&restored, Err(PlatformError::Conflict(text)) if text.contains("try")),
        "{restored:?}"
    );
    app.platform
        .delete_project(&name_of(&second), true)
        .await
        .expect("gone");
    app.platform
        .resume_project(&name_of(&first))
        .await
        .expect("now it can come back");
    app.open(&name_of(&first)).await;
    let taken = app.platform.create_branch(&name, &request("try")).await;
    assert!(
        matches!(taken, Err(PlatformError::Conflict(_))),
        "{taken:?}"
    );
}
