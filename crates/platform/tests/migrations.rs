//! A user's migrations and seeds.

mod support;

use plinth_platform::{MigrationFile, PlatformError, SeedFile, SeedOutcome};
use plinth_project::ProjectName;
use support::TestPlatform;

fn file(name: &str, sql: &str) -> MigrationFile {
    MigrationFile::new(name, sql.to_owned()).expect("a good name")
}

async fn text(app: &TestPlatform, name: &ProjectName, sql: &str) -> String {
    let owner = app.open(name).await.db.as_owner().await.expect("the owner");
    owner.query_one(sql, &[]).await.expect(sql).get(0)
}

#[tokio::test]
async fn applied_files_are_recorded_as_the_official_tool_does() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql =
        "-- todos\ncreate table todos (id int);\n\nalter table todos enable row level security;\n";

    app.platform
        .apply_migration(&name, &file("20240101000000_todos.sql", sql))
        .await
        .expect("applied");
    app.platform
        .apply_migration(&name, &file("20240101000000_todos.sql", sql))
        .await
        .expect("known");

    let recorded = text(
        &app,
        &name,
        "select version || '|' || name || '|' || array_to_string(statements, '#')
         from supabase_migrations.schema_migrations",
    )
    .await;
    assert_eq!(
        recorded,
        "20240101000000|todos|-- todos\ncreate table todos (id int)#alter table todos enable row level security"
    );
    let owner = text(
        &app,
        &name,
        "select tableowner::text from pg_tables where tablename = 'todos'",
    )
    .await;
    assert_eq!(owner, "postgres");
}

#[tokio::test]
async fn new_tables_are_reachable_as_on_the_hosted_service() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "create table todos (id int generated always as identity, body text);
               create function hello() returns text language sql return 'hi';";
    app.platform
        .apply_migration(&name, &file("1_todos.sql", sql))
        .await
        .expect("applied");

    let granted = text(
        &app,
        &name,
        "select string_agg(role || ':' || has_table_privilege(role, 'public.todos', 'select,insert,update,delete')
             || has_function_privilege(role, 'public.hello()', 'execute'), ' ')
         from unnest(array['anon','authenticated','service_role']) role",
    )
    .await;
    assert_eq!(
        granted,
        "anon:truetrue authenticated:truetrue service_role:truetrue"
    );
}

#[tokio::test]
async fn a_failing_file_is_rolled_back_and_named_with_its_line() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "create table half (id int);\n\n-- typo below\ninsert into half\nvalues (1, 2);\n";

    let error = app
        .platform
        .apply_migration(&name, &file("20240101000000_half.sql", sql))
        .await;

    let Err(PlatformError::MigrationFailed(failure)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(failure.file, "20240101000000_half.sql");
    assert_eq!((failure.statement, failure.line), (2, 5));
    assert_eq!(failure.sqlstate, "42601");
    assert!(
        app.platform
            .applied_migrations(&name)
            .await
            .expect("a list")
            .is_empty()
    );
    let exists = text(
        &app,
        &name,
        "select (to_regclass('public.half') is null)::text",
    )
    .await;
    assert_eq!(exists, "true");
}

/// PostgreSQL reports a full disk with SQLSTATE 53100; here, the file does.
#[tokio::test]
async fn a_file_is_not_to_blame_for_a_full_disk() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let full = |code: &str| {
        format!("do $$ begin raise exception 'No space left' using errcode = '{code}'; end $$;")
    };

    let apply = async |code| {
        let file = file("1_full.sql", &full(code));
        app.platform
            .apply_migration(&name, &file)
            .await
            .expect_err("it fails")
    };

    assert!(matches!(apply("53100").await, PlatformError::NoSpace(_)));
    assert!(matches!(
        apply("53300").await,
        PlatformError::Unavailable(_)
    ));
    for code in ["53200", "53400"] {
        let error = apply(code).await;
        assert!(
            matches!(error, PlatformError::MigrationFailed(_)),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn files_may_bring_their_own_begin_and_commit() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;

    for sql in [
        "begin;\ncreate table a (id int);\ncommit;\nselect 1/0;",
        "create table a (id int);\n-- done /* here\ncommit;\nselect 1/0;",
        "create table a (id int);\n/* a /* b */ c */ commit;\nselect 1/0;",
        "create table a (id int);\nrollback;",
    ] {
        let error = app
            .platform
            .apply_migration(&name, &file("1_a.sql", sql))
            .await;

        assert!(
            matches!(error, Err(PlatformError::MigrationFailed(_))),
            "{sql}"
        );
        assert_eq!(
            text(&app, &name, "select (to_regclass('a') is null)::text").await,
            "true",
            "{sql}"
        );
    }
    assert!(
        app.platform
            .applied_migrations(&name)
            .await
            .expect("a list")
            .is_empty()
    );
}

#[tokio::test]
async fn concurrent_indexes_need_the_marker_and_the_error_says_so() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    app.platform
        .apply_migration(&name, &file("1_a.sql", "create table a (id int)"))
        .await
        .expect("applied");
    let sql = "create index concurrently a_id on a (id)";

    let rejected = app
        .platform
        .apply_migration(&name, &file("2_b.sql", sql))
        .await;
    let Err(PlatformError::MigrationFailed(failure)) = rejected else {
        panic!("{rejected:?}")
    };
    assert!(
        failure
            .hint
            .as_deref()
            .unwrap_or_default()
            .contains("no-transaction")
    );

    let marked = format!("-- plinth: no-transaction\n{sql}");
    app.platform
        .apply_migration(&name, &file("2_b.sql", &marked))
        .await
        .expect("applied");
}

#[tokio::test]
async fn settings_of_api_roles_are_made_for_this_project_only() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "alter role authenticator set pgrst.db_schemas = 'public, api';";

    let notices = app
        .platform
        .apply_migration(&name, &file("1_role.sql", sql))
        .await
        .expect("applied");

    assert_eq!(notices.len(), 1, "{notices:?}");
    let setting = text(
        &app,
        &name,
        "select array_to_string(setconfig, ',') from pg_db_role_setting
         where setrole = 'authenticator'::regrole
           and setdatabase = (select oid from pg_database where datname = current_database())",
    )
    .await;
    assert_eq!(setting, "pgrst.db_schemas=public, api");
    let stored = "select value from plinth_roles.settings
                  where role = 'authenticator' and name = 'pgrst.db_schemas'";
    assert_eq!(text(&app, &name, stored).await, "public, api");
}

#[tokio::test]
async fn a_setting_of_a_role_is_rolled_back_with_its_migration() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "alter role anon set statement_timeout = '99s'; select 1 / 0;";

    app.platform
        .apply_migration(&name, &file("1_role.sql", sql))
        .await
        .expect_err("the second statement fails");

    let stored = "select value from plinth_roles.settings
                  where role = 'anon' and name = 'statement_timeout'";
    assert_eq!(text(&app, &name, stored).await, "3s");
}

#[tokio::test]
async fn a_bad_value_of_a_setting_fails_the_migration() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "select 1;\nalter role anon set statement_timeout = 'soon';";

    let error = app
        .platform
        .apply_migration(&name, &file("1_role.sql", sql))
        .await
        .expect_err("no duration");

    let message = error.to_string();
    assert!(message.contains("1_role.sql:2: invalid value"), "{message}");
}

#[tokio::test]
async fn a_seed_may_set_settings_of_roles_too() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let seed = SeedFile {
        path: "supabase/seed.sql".to_owned(),
        sql: "alter role authenticated set work_mem to '5MB';".to_owned(),
    };

    app.platform.run_seed(&name, &seed).await.expect("ran");

    let stored = "select value from plinth_roles.settings
                  where role = 'authenticated' and name = 'work_mem'";
    assert_eq!(text(&app, &name, stored).await, "5MB");
}

#[tokio::test]
async fn settings_that_only_superusers_make_are_made_for_no_other() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = "alter role anon set session_preload_libraries = 'evil';
               alter role anon set statement_timeout = '5s';";

    let notices = app
        .platform
        .apply_migration(&name, &file("1_role.sql", sql))
        .await
        .expect("applied");

    assert!(notices[0].starts_with("not carried out"), "{notices:?}");
    assert!(notices[1].starts_with("carried out"), "{notices:?}");
}

#[tokio::test]
async fn nothing_is_smuggled_past_the_setting_of_an_api_role() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    for sql in [
        "alter role anon set a.b = $😀$x$😀$; create role smuggled superuser; --$😀$",
        "alter role anon /* a /* b */ ; create role smuggled superuser; -- */ set a.b = 1",
        "alter role anon set a.b = 'x\\'; create role smuggled superuser; --'",
    ] {
        _ = app
            .platform
            .apply_migration(&name, &file("1_role.sql", sql))
            .await;

        let found = text(
            &app,
            &name,
            "select count(*)::text from pg_roles where rolname = 'smuggled' and rolsuper",
        )
        .await;
        assert_eq!(found, "0", "{sql}");
    }
}

#[tokio::test]
async fn our_own_sessions_find_nothing_of_the_users() {
    let app = TestPlatform::start().await;
    let project = app.open(&app.project("Shop").await).await;

    let admin = project
        .db
        .as_admin()
        .await
        .expect("the administrating role");
    let row = admin
        .query_one("show search_path", &[])
        .await
        .expect("a row");

    assert_eq!(
        row.get::<_, &str>(0),
        "pg_catalog,pg_temp",
        "in spite of the database's own"
    );
}

#[tokio::test]
async fn common_migrations_run_unchanged() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let sql = r#"
        create extension if not exists "uuid-ossp";
        create extension if not exists pg_trgm with schema extensions;
        create extension if not exists citext;
        create table public.profiles (
            id uuid primary key references auth.users (id) on delete cascade,
            username citext unique,
            token uuid default uuid_generate_v4(),
            secret text default encode(gen_random_bytes(8), 'hex')
        );
        alter table public.profiles enable row level security;
        create policy "own profile" on public.profiles for select to authenticated
            using ((select auth.uid()) = id);
        create function public.handle_new_user() returns trigger
        language plpgsql security definer set search_path = '' as $$
        begin
            insert into public.profiles (id, username) values (new.id, new.raw_user_meta_data ->> 'name');
            return new;
        end;
        $$;
        create trigger on_auth_user_created after insert on auth.users
            for each row execute procedure public.handle_new_user();
        insert into storage.buckets (id, name) values ('avatars', 'avatars');
        create policy "avatars are public" on storage.objects for select using (bucket_id = 'avatars');
        create policy "listen" on realtime.messages for select to authenticated using (true);
        alter publication supabase_realtime add table public.profiles;
        create schema if not exists private;
        grant usage on schema private to service_role;
        insert into auth.users (id, raw_user_meta_data)
            values ('00000000-0000-0000-0000-000000000001', '{"name": "ada"}');
    "#;

    app.platform
        .apply_migration(&name, &file("1_all.sql", sql))
        .await
        .expect("applied");

    assert_eq!(
        text(&app, &name, "select username::text from public.profiles").await,
        "ada"
    );
}

#[tokio::test]
async fn roles_can_be_created_where_the_server_confines_them() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let role = format!("app_{}", uuid::Uuid::new_v4().simple());
    let sql = format!(
        "create role {role} nologin; grant {role} to postgres; grant usage on schema public to {role};"
    );

    let result = app
        .platform
        .apply_migration(&name, &file("1_role.sql", &sql))
        .await;

    assert_eq!(result.is_ok(), app.platform.cluster().has_grant_options());
}

#[tokio::test]
async fn a_seed_runs_once() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    app.platform
        .apply_migration(&name, &file("1_t.sql", "create table t (id int)"))
        .await
        .expect("applied");
    let mut seed = SeedFile {
        path: "supabase/seed.sql".to_owned(),
        sql: "insert into t values (1);".to_owned(),
    };

    assert_eq!(
        app.platform.run_seed(&name, &seed).await.expect("ran"),
        SeedOutcome::Ran
    );
    assert_eq!(
        app.platform.run_seed(&name, &seed).await.expect("known"),
        SeedOutcome::Known
    );
    seed.sql.push_str("\n-- changed");
    assert_eq!(
        app.platform.run_seed(&name, &seed).await.expect("changed"),
        SeedOutcome::Changed
    );

    assert_eq!(text(&app, &name, "select count(*)::text from t").await, "1");
}
