//! Each check finds what it is about and nothing else, and what its fix makes of it is not found again.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use plinth_advisor::{AuthFacts, Category, Facts, Limits, Lint, Report, checks, run};
use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

/// A state of a database in which a check finds one thing, and one in which it finds nothing.
struct Case {
    check: &'static str,
    bad: &'static str,
    good: &'static str,
    /// Run by the superuser after `bad`: what no owner can do.
    damage: &'static str,
    /// Whether SQL can fix it.
    has_fix: bool,
}

const fn case(check: &'static str, bad: &'static str, good: &'static str) -> Case {
    Case {
        check,
        bad,
        good,
        damage: "",
        has_fix: true,
    }
}

const CASES: &[Case] = &[
    case(
        "rls_disabled_in_public",
        "create table notes (id int primary key); create table \"Odd \"\" name\" (id int primary key);
         alter table \"Odd \"\" name\" enable row level security;",
        "create table closed (id int); revoke all on closed from anon, authenticated;
         create schema inner_schema; create table inner_schema.t (id int);",
    ),
    case(
        "policy_exists_rls_disabled",
        "create table notes (id int); create policy p on notes using (true);",
        "create table notes (id int); alter table notes enable row level security; create policy p on notes using (true);",
    ),
    case(
        "rls_enabled_no_policy",
        "create table notes (id int); alter table notes enable row level security;",
        "create table notes (id int); alter table notes enable row level security; create policy p on notes using (true);",
    ),
    case(
        "security_definer_view",
        "create table notes (id int); create view looks with (security_barrier) as select id from notes;",
        "create table notes (id int); create view looks with (security_invoker = on) as select id from notes;
         create view hidden as select id from notes; revoke all on hidden from anon, authenticated;",
    ),
    case(
        "auth_users_exposed",
        "create view people as select id, email from auth.users;",
        "create view people with (security_invoker = true) as select id from auth.users;",
    ),
    case(
        "function_search_path_mutable",
        "create function f(a int) returns int language sql as 'select a';",
        "create function f(a int) returns int language sql set search_path = '' as 'select a';
         create function g(a int) returns int language sql begin atomic select a; end;",
    ),
    // A trusted extension's objects belong to the superuser, and moving it is not its owner's to do.
    Case {
        has_fix: false,
        ..case(
            "extension_in_public",
            "create extension citext schema public;",
            "create extension citext schema extensions;",
        )
    },
    case(
        "rls_references_user_metadata",
        "create table notes (id int); alter table notes enable row level security;
         create policy \"p \"\"q\" on notes using ((select auth.jwt()) -> 'user_metadata' ->> 'plan' = 'pro');",
        "create table notes (id int); alter table notes enable row level security;
         create policy p on notes using ((select auth.jwt()) -> 'app_metadata' ->> 'plan' = 'pro');",
    ),
    case(
        "materialized_view_in_api",
        "create materialized view m as select 1 as one;",
        "create materialized view m as select 1 as one; revoke all on m from anon, authenticated;",
    ),
    Case {
        check: "foreign_table_in_api",
        bad: "",
        good: "",
        damage: "create extension postgres_fdw schema extensions;
                 create server elsewhere foreign data wrapper postgres_fdw;
                 create foreign table public.abroad (id int) server elsewhere;
                 alter foreign table public.abroad owner to postgres; grant select on public.abroad to anon;",
        has_fix: true,
    },
    Case {
        has_fix: false,
        ..case(
            "leaked_service_key",
            "create function f() returns text language sql as $$ select 'sb_secret_abcdefghijklmnopqrstuv_12345678' $$;",
            "create function f() returns text language sql as $$ select 'sb_publishable_abcdefghijklmnopqrstuv_12345678' $$;",
        )
    },
    case(
        "plinth_public_bucket_listing",
        "insert into storage.buckets (id, name, public) values ('it''s', 'it''s', true);
         create policy everyone on storage.objects for select using (bucket_id = 'it''s');",
        "insert into storage.buckets (id, name, public) values ('shut', 'shut', false), ('open', 'open', true);
         create policy everyone on storage.objects for select using (bucket_id = 'shut');",
    ),
    case(
        "plinth_anon_can_truncate",
        "create table notes (id int); grant truncate on notes to anon;",
        "create table notes (id int); revoke truncate on notes from anon, authenticated;",
    ),
    case(
        "unindexed_foreign_keys",
        "create table a (id int primary key, x int, y int, unique (x, y));
         create table b (x int, y int, foreign key (x, y) references a (x, y));",
        "create table a (id int primary key, x int, y int, unique (x, y));
         create table b (x int, y int, z int, foreign key (x, y) references a (x, y)); create index on b (y, x, z);",
    ),
    case(
        "auth_rls_initplan",
        "create table notes (id int, owner uuid, t text); alter table notes enable row level security;
         create policy own on notes using (auth.uid() = owner) with check (auth.jwt() ->> 'a' = 'auth.uid()');",
        "create table notes (id int, owner uuid, t text); alter table notes enable row level security;
         create policy own on notes using ((select auth.uid()) = owner and t <> 'auth.uid()');",
    ),
    case(
        "no_primary_key",
        "create table notes (id int, row_id int);",
        "create table notes (id int primary key); create table parts (id int primary key) partition by list (id);
         create table parts_1 partition of parts default;",
    ),
    case(
        "duplicate_index",
        "create table notes (id int primary key, t text); create index one on notes (t); create index \"two \"\" x\" on notes (t);",
        "create table notes (id int primary key, t text); create index one on notes (t); create index two on notes (t desc);
         create unique index three on notes (id, t);",
    ),
    case(
        "multiple_permissive_policies",
        "create table notes (id int, t text); alter table notes enable row level security;
         create policy one on notes for select to anon using (id = 1); create policy two on notes for select to anon using (t = 'x');",
        "create table notes (id int, t text); alter table notes enable row level security;
         create policy one on notes for select to anon using (id = 1); create policy two on notes for insert to anon with check (t = 'x');
         create policy three on notes as restrictive for select using (true);",
    ),
    case(
        "unsupported_reg_types",
        "create table notes (id int, f regproc);",
        "create table notes (id int, f regclass);",
    ),
    Case {
        damage: "update pg_index set indisvalid = false where indexrelid = 'public.broken'::regclass;",
        ..case(
            "plinth_invalid_index",
            "create table notes (id int); create index broken on notes (id);",
            "create table notes (id int); create index whole on notes (id);",
        )
    },
    Case {
        damage: "update pg_collation set collversion = '1' where collname = 'de_old';",
        ..case(
            "plinth_collation_drift",
            "create collation de_old (provider = icu, locale = 'de'); create table notes (t text collate de_old); create index on notes (t);",
            "create collation de_new (provider = icu, locale = 'de'); create table notes (t text collate de_new);",
        )
    },
];

/// Checks of what statistics say; `report` is asked again until they arrive.
const MEASURED: &[Case] = &[
    case(
        "plinth_bloat",
        "create table notes (id int) with (autovacuum_enabled = off); insert into notes select generate_series(1, 300);
         delete from notes where id > 100;",
        "",
    ),
    case(
        "plinth_stats_stale",
        "create table notes (id int) with (autovacuum_enabled = off); insert into notes select generate_series(1, 300);",
        "",
    ),
    Case {
        has_fix: false,
        ..case(
            "plinth_seq_scan_heavy",
            "create table notes (id int); insert into notes select generate_series(1, 3000); select count(*) from notes; select sum(id) from notes;",
            "",
        )
    },
    case(
        "unused_index",
        "create table notes (id int); insert into notes select generate_series(1, 1000); create index never on notes (id);
         analyze notes; select count(*) from notes;",
        "",
    ),
    case(
        "plinth_xid_age",
        // A block with a handler is a subtransaction with a number of its own.
        "create table notes (id int) with (autovacuum_enabled = off);
         do $$ begin for i in 1..25000 loop begin insert into notes values (i); exception when others then null; end; end loop; end $$;",
        "",
    ),
    case(
        "plinth_slot_lag",
        "select pg_create_logical_replication_slot('slot_' || current_database(), 'pgoutput'); create table notes (id int);",
        "",
    ),
];

fn facts() -> Facts {
    Facts {
        exposed_schemas: vec!["public".to_owned()],
        system_schemas: [
            "auth",
            "storage",
            "realtime",
            "extensions",
            "plinth",
            "plinth_roles",
            "supabase_migrations",
            "graphql_public",
            "pg_catalog",
            "information_schema",
            "pg_toast",
        ]
        .map(str::to_owned)
        .into(),
        ..Facts::default()
    }
}

async fn ask(client: &mut Client, limits: &Limits) -> Report {
    run(client, &facts(), limits, None).await.expect("a report")
}

async fn findings(database: &TestDatabase, check: &str, limits: &Limits) -> Vec<Lint> {
    let mut client = database.connect_as("postgres").await;
    let report = ask(&mut client, limits).await;
    let not_run = report.not_run.iter().find(|not_run| not_run.name == check);
    assert_eq!(not_run, None);
    report
        .lints
        .into_iter()
        .filter(|lint| lint.name == check)
        .collect()
}

async fn run_as_owner(database: &TestDatabase, sql: &str) {
    let client = database.connect_as("postgres").await;
    let path = "set search_path = public, extensions";
    client.batch_execute(path).await.expect("a path");
    if let Err(error) = client.batch_execute(sql).await {
        panic!("{}\n{sql}", plinth_db::describe(&error));
    }
}

async fn check(case: &Case) {
    let limits = Limits::default();
    let bad = TestDatabase::create().await;
    run_as_owner(&bad, case.bad).await;
    bad.admin()
        .await
        .batch_execute(case.damage)
        .await
        .expect(case.check);
    let good = TestDatabase::create().await;
    run_as_owner(&good, case.good).await;

    let found = findings(&bad, case.check, &limits).await;
    assert_eq!(found.len(), 1, "{}: {found:#?}", case.check);
    let fine = findings(&good, case.check, &limits).await;
    assert!(fine.is_empty(), "{}: {fine:#?}", case.check);

    assert_eq!(found[0].fix.is_some(), case.has_fix, "{}", case.check);
    if let Some(fix) = &found[0].fix {
        run_as_owner(&bad, fix).await;
        let left = findings(&bad, case.check, &limits).await;
        assert!(left.is_empty(), "{}: {fix}: {left:#?}", case.check);
    }
}

#[tokio::test]
async fn each_check_finds_what_it_is_about_and_its_fix_helps() {
    let mut failed = Vec::new();
    for case in CASES {
        if AssertUnwindSafe(check(case)).catch_unwind().await.is_err() {
            failed.push(case.check);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// A table of 300 rows counts as large, and any WAL as much.
fn small() -> Limits {
    Limits {
        dead_rows: 100,
        scanned_rows: 5000,
        transaction_age: 20_000,
        changed_rows: 100,
        slot_bytes: 1,
        unused_index_pages: 1,
        ..Limits::default()
    }
}

async fn check_measured(case: &Case) {
    let database = TestDatabase::create().await;
    let admin = database.admin().await;
    let before = findings(&database, case.check, &small()).await;
    let sql = format!("set search_path = public; {}", case.bad);
    // By the superuser, who may make slots. A session reports its statistics when it ends, at the latest.
    admin.batch_execute(&sql).await.expect(case.check);
    admin
        .batch_execute("select pg_stat_force_next_flush()")
        .await
        .expect("a flush");
    admin.batch_execute("select 1").await.expect("a statement");

    let mut found = Vec::new();
    plinth_testkit::until(async || {
        found = findings(&database, case.check, &small()).await;
        !found.is_empty()
    })
    .await;

    assert!(before.is_empty(), "{}: {before:#?}", case.check);
    assert_eq!(found.len(), 1, "{}: {found:#?}", case.check);
    let none = findings(&database, case.check, &Limits::default()).await;
    assert!(none.is_empty(), "{}: {none:#?}", case.check);
    assert_eq!(found[0].fix.is_some(), case.has_fix, "{}", case.check);
    if let Some(fix) = &found[0].fix {
        admin.batch_execute(fix).await.expect(case.check);
        admin
            .batch_execute("select pg_stat_force_next_flush()")
            .await
            .expect("a flush");
        plinth_testkit::until(async || findings(&database, case.check, &small()).await.is_empty())
            .await;
    }
}

#[tokio::test]
async fn measured_checks_find_what_they_are_about_and_their_fixes_help() {
    let mut failed = Vec::new();
    for case in MEASURED {
        if AssertUnwindSafe(check_measured(case))
            .catch_unwind()
            .await
            .is_err()
        {
            failed.push(case.check);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

fn good_auth() -> AuthFacts {
    AuthFacts {
        otp_expiry: 3600,
        otp_length: 6,
        checks_leaked_passwords: true,
        second_factors: 2,
        requires_characters: true,
        minimum_password_length: 8,
        has_mail_server: true,
        redirect_urls: vec!["https://*.example.com/**".to_owned()],
    }
}

fn bad_auth() -> AuthFacts {
    AuthFacts {
        otp_expiry: 3601,
        otp_length: 5,
        checks_leaked_passwords: false,
        second_factors: 1,
        requires_characters: false,
        minimum_password_length: 7,
        has_mail_server: false,
        redirect_urls: vec!["https://**".to_owned()],
    }
}

#[tokio::test]
async fn facts_that_are_known_are_judged() {
    let database = TestDatabase::create().await;
    let mut client = database.connect_as("postgres").await;
    let known = |auth, is_good: bool| Facts {
        auth: Some(auth),
        encrypts_connections: Some(is_good),
        functions_with_secret_keys: Some(if is_good {
            vec![]
        } else {
            vec!["hello".to_owned()]
        }),
        admins: Some(if is_good { 2 } else { 1 }),
        operators_without_second_factor: Some(if is_good {
            vec![]
        } else {
            vec!["ada@example.com".to_owned()]
        }),
        hours_since_backup: Some(is_good.then_some(3)),
        ..facts()
    };
    let of_facts = [
        "auth_insufficient_mfa_options",
        "auth_leaked_password_protection",
        "auth_otp_long_expiry",
        "auth_otp_short_length",
        "auth_password_policy_missing",
        "no_backup_admin",
        "password_requirements_min_length",
        "plinth_backup_stale",
        "plinth_default_smtp",
        "plinth_operator_without_mfa",
        "plinth_redirect_wildcard",
        "plinth_secret_key_in_function_source",
        "ssl_not_enforced",
    ];
    let limits = Limits::default();

    let good = run(&mut client, &known(good_auth(), true), &limits, None)
        .await
        .expect("a report");
    let bad = run(&mut client, &known(bad_auth(), false), &limits, None)
        .await
        .expect("a report");
    let unknown = run(&mut client, &facts(), &limits, None)
        .await
        .expect("a report");

    let names = |report: &Report| {
        let mut names: Vec<String> = report.lints.iter().map(|lint| lint.name.clone()).collect();
        names.retain(|name| of_facts.contains(&name.as_str()));
        names.sort();
        names
    };
    assert_eq!(names(&good), [""; 0]);
    assert_eq!(names(&bad), of_facts);
    let mut not_run: Vec<&str> = unknown
        .not_run
        .iter()
        .map(|not_run| not_run.name.as_str())
        .collect();
    not_run.sort_unstable();
    assert_eq!(not_run, of_facts);
}

#[tokio::test]
async fn a_check_that_takes_too_long_is_told_as_not_run() {
    let database = TestDatabase::create().await;
    run_as_owner(
        &database,
        "create table notes (id int); insert into notes select generate_series(1, 3000);
                             create index never on notes (id);",
    )
    .await;
    let holder = database.admin().await;
    // Most checks read what a table's definition needs a lock for.
    holder
        .batch_execute("begin; lock table public.notes; lock table pg_catalog.pg_policy")
        .await
        .expect("a lock");
    let mut client = database.connect_as("postgres").await;
    let limits = Limits {
        timeout: Duration::from_millis(200),
        ..Limits::default()
    };

    let report = ask(&mut client, &limits).await;

    let of = |name: &str| report.not_run.iter().find(|not_run| not_run.name == name);
    let policies = of("policy_exists_rls_disabled").expect("it waits for the lock");
    assert_eq!(policies.reason, "It took too long");
    // Others have their answers.
    assert_eq!(of("extension_in_public"), None);
    assert!(
        report
            .lints
            .iter()
            .any(|lint| lint.name == "no_primary_key")
    );
}

#[tokio::test]
async fn a_finding_has_the_shape_of_the_management_api() {
    let database = TestDatabase::create().await;
    run_as_owner(&database, "create table notes (id int primary key);").await;

    let found = findings(&database, "rls_disabled_in_public", &Limits::default()).await;

    let shape = |name: &str| found[0].metadata.get(name).and_then(|value| value.as_str());
    assert_eq!(found[0].facing, "EXTERNAL");
    assert_eq!(found[0].categories, [Category::Security]);
    assert_eq!(found[0].cache_key, "rls_disabled_in_public_public_notes");
    assert_eq!(
        (shape("schema"), shape("name"), shape("type")),
        (Some("public"), Some("notes"), Some("table"))
    );
    assert_eq!(
        found[0].fix.as_deref(),
        Some("alter table public.notes enable row level security;")
    );
}

#[tokio::test]
async fn an_empty_project_has_no_errors_and_one_advisor_is_not_the_other() {
    let database = TestDatabase::create().await;
    let mut client = database.connect_as("postgres").await;
    let limits = Limits::default();

    let both = ask(&mut client, &limits).await;
    let security = run(&mut client, &facts(), &limits, Some(Category::Security))
        .await
        .expect("a report");

    let of_database = both
        .lints
        .iter()
        .filter(|lint| lint.name != "vulnerable_postgres_version");
    assert_eq!(of_database.count(), 0, "{:#?}", both.lints);
    assert!(
        security
            .lints
            .iter()
            .all(|lint| lint.categories == [Category::Security])
    );
    let (all, some) = (checks(None).len(), checks(Some(Category::Security)).len());
    assert!(some < all, "{some} of {all}");
}

#[tokio::test]
async fn no_two_findings_have_the_same_key() {
    let database = TestDatabase::create().await;
    let sql = "create schema a; create schema a_b; create table a.b_c (x int); create table a_b.c (x int);";
    run_as_owner(&database, sql).await;

    let found = findings(&database, "no_primary_key", &Limits::default()).await;

    let keys: Vec<&str> = found.iter().map(|lint| lint.cache_key.as_str()).collect();
    assert_eq!(keys, ["no_primary_key_a_b_c", "no_primary_key_a_b_c__2"]);
}
