//! Editors and readers in the database: what they may do is held by PostgreSQL.

mod support;

use plinth_platform::{BranchRequest, CopyMethod};
use plinth_project::{DatabaseAccess, LoginKind, OperatorSession, Project, ProjectName};
use plinth_testkit::TestServer;
use support::TestPlatform;
use tokio_postgres::Client;

const TABLES: &str = r#"
    create table public.notes (id serial primary key, body text, author uuid default auth.uid());
    alter table public.notes enable row level security;
    insert into public.notes (body) values ('hidden by policies');
    create schema "it's ""odd"" 😀";
    create table "it's ""odd"" 😀"."tab.le" (id int primary key);
    create table public.secrets (id int);
    revoke all on public.secrets from plinth_editor, plinth_reader;"#;

async fn session(project: &Project, access: DatabaseAccess) -> OperatorSession {
    let session = project.db.session_as_operator(access).await;
    session.expect("a session of an operator")
}

async fn with_tables(app: &TestPlatform, name: &ProjectName) -> Project {
    let project = app.open(name).await;
    let owner = project.db.as_owner().await.expect("the owner");
    owner.batch_execute(TABLES).await.expect("tables");
    project
}

#[track_caller]
fn denied(result: Result<impl std::fmt::Debug, tokio_postgres::Error>, what: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{what} worked"));
    let code = error.code().map(|code| code.code().to_owned());
    // Insufficient privilege, or a read-only transaction.
    let is_denied = matches!(code.as_deref(), Some("42501" | "25006"));
    assert!(is_denied, "{what}: {error:?}");
}

async fn count(client: &Client, table: &str) -> i64 {
    let sql = format!("select count(*) from {table}");
    let row = client.query_one(&sql, &[]).await;
    row.unwrap_or_else(|error| panic!("{table}: {error:?}"))
        .get(0)
}

#[tokio::test]
async fn editors_change_rows_and_nothing_else() {
    let app = TestPlatform::start().await;
    let project = with_tables(&app, &ProjectName::Default).await;
    let editor = session(&project, DatabaseAccess::Editor).await;

    assert_eq!(
        count(&editor, "public.notes").await,
        1,
        "policies are about users"
    );
    editor
        .batch_execute(
            r#"insert into public.notes (body) values ('new');
               update public.notes set body = 'changed' where body = 'new';
               delete from public.notes where body = 'changed';
               insert into "it's ""odd"" 😀"."tab.le" values (1);"#,
        )
        .await
        .expect("rows");

    for sql in [
        "create table public.mine (id int)",
        "alter table public.notes add column x int",
        "drop table public.notes",
        "truncate public.notes",
        "create schema mine",
        "create temp table notes (id int)",
        "create function pg_temp.x() returns int language sql return 1",
        "select * from auth.users",
        "select * from auth.refresh_tokens",
        "insert into auth.users (id) values (gen_random_uuid())",
        "select * from storage.objects",
        "select * from supabase_migrations.schema_migrations",
        "select * from plinth.mailbox",
        "select * from public.secrets",
    ] {
        denied(editor.batch_execute(sql).await, sql);
    }
}

#[tokio::test]
async fn readers_read_and_nothing_else() {
    let app = TestPlatform::start().await;
    let project = with_tables(&app, &ProjectName::Default).await;
    let reader = session(&project, DatabaseAccess::Reader).await;

    assert_eq!(count(&reader, "public.notes").await, 1);
    assert_eq!(count(&reader, r#""it's ""odd"" 😀"."tab.le""#).await, 0);
    reader
        .query(
            "select auth.uid(), auth.role(), auth.jwt(), auth.email()",
            &[],
        )
        .await
        .expect("helper functions");

    let writes = [
        "insert into public.notes (body) values ('new')",
        "update public.notes set body = ''",
        "delete from public.notes",
        "select nextval('public.notes_id_seq')",
        "select * from auth.users",
        "select * from public.secrets",
        "create table public.mine (id int)",
        "create temp table notes (id int)",
        "create function pg_temp.x() returns int language sql return 1",
    ];
    for sql in writes {
        denied(reader.batch_execute(sql).await, sql);
    }
    // The grants hold it, not the setting that any session may change.
    reader
        .batch_execute("set default_transaction_read_only = off; set transaction_read_only = off")
        .await
        .expect("a setting");
    for sql in writes {
        denied(reader.batch_execute(sql).await, sql);
    }
}

/// `set_config('role', …)` inside of a statement changes who the rest of it runs as.
#[tokio::test]
async fn no_sql_leads_out_of_the_role() {
    let app = TestPlatform::start().await;
    let project = with_tables(&app, &ProjectName::Default).await;
    let kinds = [
        (DatabaseAccess::Editor, "plinth_reader"),
        (DatabaseAccess::Reader, "plinth_editor"),
    ];
    for (access, other) in kinds {
        let operator = session(&project, access).await;
        for role in [
            "postgres",
            "service_role",
            "authenticated",
            "anon",
            "authenticator",
            "supabase_admin",
            "supabase_auth_admin",
            other,
        ] {
            let set = format!("set role {role}");
            denied(operator.batch_execute(&set).await, &set);
            let inside = format!(
                "select set_config('role', '{role}', true),
                        query_to_xml('select * from auth.users', true, true, '')"
            );
            denied(operator.query(&inside, &[]).await, &inside);
        }
        for sql in ["reset role", "set role none"] {
            operator.batch_execute(sql).await.expect(sql);
            denied(operator.query("select * from auth.users", &[]).await, sql);
        }
        denied(
            operator
                .batch_execute("set session authorization postgres")
                .await,
            "session authorization",
        );
    }
}

#[tokio::test]
async fn callers_cannot_become_operators() {
    let app = TestPlatform::start().await;
    app.project("Shop").await;
    let admin = TestServer::shared().await.connect().await;
    let sql = "select r.rolname::text
               from pg_roles r cross join (values ('plinth_editor'), ('plinth_reader')) o (name)
               where pg_has_role(r.oid, o.name, 'member') and not r.rolsuper and r.rolname <> o.name";
    let rows = admin.query(sql, &[]).await.expect("members");
    let members: Vec<String> = rows.iter().map(|row| row.get(0)).collect();

    assert!(!members.is_empty());
    for member in members {
        let of_operators = member.starts_with("editor_") || member.starts_with("reader_");
        assert!(of_operators, "{member}");
    }
    let sql = "select rolname::text from pg_roles
               where rolname in ('plinth_editor', 'plinth_reader')
                 and (rolcanlogin or rolsuper or rolcreaterole or rolcreatedb or rolreplication)";
    assert!(admin.query(sql, &[]).await.expect("roles").is_empty());
}

#[tokio::test]
async fn what_the_owner_revokes_stays_revoked() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = with_tables(&app, &name).await;
    let owner = project.db.as_owner().await.expect("the owner");
    owner
        .batch_execute(
            "revoke insert, update, delete on public.notes from plinth_editor;
             revoke select on public.notes from plinth_reader;
             alter default privileges revoke all on tables from plinth_editor, plinth_reader;
             create table public.later (id int);",
        )
        .await
        .expect("revoked");
    drop(owner);
    app.registry.close(project.reference());

    let project = app.open(&name).await;

    let editor = session(&project, DatabaseAccess::Editor).await;
    assert_eq!(count(&editor, "public.notes").await, 1);
    denied(
        editor.batch_execute("delete from public.notes").await,
        "delete",
    );
    denied(
        editor.query("select * from public.later", &[]).await,
        "later",
    );
    let reader = session(&project, DatabaseAccess::Reader).await;
    denied(
        reader.query("select * from public.notes", &[]).await,
        "select",
    );
}

#[tokio::test]
async fn branches_have_the_grants_of_their_parent_and_logins_of_their_own() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = with_tables(&app, &name).await;
    for method in [CopyMethod::Copied, CopyMethod::Dumped] {
        // A session in the parent makes copying impossible.
        let holder = match method {
            CopyMethod::Copied => {
                project.db.close();
                None
            }
            CopyMethod::Dumped => {
                let url = app.platform.database_url(&name).await.expect("a URL");
                let url = url::Url::parse(url.expose()).expect("a URL");
                let user = LoginKind::Owner.role_name(project.reference());
                let password = url.password().expect("one");
                let login = app
                    .login(&user, password, project.reference().as_str())
                    .await;
                let psql = login.connect().await.expect("psql");
                psql.batch_execute("set application_name = 'psql'; begin")
                    .await
                    .expect("a session");
                Some(psql)
            }
        };
        let request = BranchRequest {
            name: method.as_str().to_owned(),
            ..BranchRequest::default()
        };
        let branch = app.platform.create_branch(&name, &request).await;
        let branch = branch.expect("a branch");
        assert_eq!(branch.copy_method, Some(method));
        if let Some(job) = branch.job {
            plinth_testkit::until(async || {
                let job = app.platform.load_job(job).await.expect("a job");
                assert_eq!(job.error, None);
                job.finished_at.is_some()
            })
            .await;
        }
        drop(holder);

        let branch = app.open(&ProjectName::Ref(branch.reference)).await;
        let editor = session(&branch, DatabaseAccess::Editor).await;
        assert_eq!(count(&editor, "public.notes").await, 1, "{method:?}");
        editor
            .batch_execute("insert into public.notes (body) values ('in the branch')")
            .await
            .expect("written");
        denied(
            editor.query("select * from public.secrets", &[]).await,
            "revoked",
        );
        denied(editor.query("select * from auth.users", &[]).await, "auth");
        let owner = branch.db.as_owner().await.expect("the owner");
        owner
            .batch_execute("create table public.younger (id int)")
            .await
            .expect("a table");
        assert_eq!(count(&editor, "public.younger").await, 0, "{method:?}");
    }
}

/// A project from before there were such roles.
#[tokio::test]
async fn an_older_project_gets_logins_and_grants_when_it_opens() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = with_tables(&app, &name).await;
    let reference = project.reference().clone();
    app.registry.close(&reference);
    let admin = TestServer::shared().await.admin();
    let inside = admin
        .database(reference.as_str())
        .connect()
        .await
        .expect("admin");
    inside
        .batch_execute(&format!(
            r#"alter default privileges for role postgres
                   revoke all on tables from plinth_editor, plinth_reader;
               alter default privileges for role postgres
                   revoke all on schemas from plinth_editor, plinth_reader;
               revoke all on all tables in schema public from plinth_editor, plinth_reader;
               revoke all on schema public, auth, "it's ""odd"" 😀" from plinth_editor, plinth_reader;
               grant temporary on database {reference} to public;
               delete from plinth.migrations
               where service = 'base' and version = 5 or service = 'auth' and version = 21;
               revoke all on database {reference} from editor_{reference}, reader_{reference};
               drop role editor_{reference}, reader_{reference};"#
        ))
        .await
        .expect("as it was");

    let project = app.open(&name).await;

    let editor = session(&project, DatabaseAccess::Editor).await;
    editor
        .batch_execute("insert into public.notes (body) values ('new')")
        .await
        .expect("written");
    let sql = "create temp table notes (id int)";
    denied(editor.batch_execute(sql).await, sql);
    let owner = project.db.as_owner().await.expect("the owner");
    owner.batch_execute(sql).await.expect("others may");
    let reader = session(&project, DatabaseAccess::Reader).await;
    assert_eq!(count(&reader, "public.notes").await, 2);
    assert_eq!(count(&reader, r#""it's ""odd"" 😀"."tab.le""#).await, 0);
    assert!(
        project.db.repairs().is_empty(),
        "{:?}",
        project.db.repairs()
    );
}

#[tokio::test]
async fn on_an_external_server_they_work_as_well() {
    let app = TestPlatform::start_external().await;
    let project = with_tables(&app, &ProjectName::Default).await;

    let editor = session(&project, DatabaseAccess::Editor).await;

    assert_eq!(count(&editor, "public.notes").await, 1);
    denied(editor.query("select * from auth.users", &[]).await, "auth");
}
