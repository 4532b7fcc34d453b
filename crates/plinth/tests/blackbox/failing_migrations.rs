//! Migrations that fail, or are cut off, at the start.

use std::time::Duration;

use crate::support::{Folder, Instance, eventually, rows, try_rows, value};

#[test]
fn a_start_with_a_broken_migration_says_where_and_leaves_nothing() {
    let folder = Folder::with(&[
        (
            "migrations/1_good.sql",
            "create table public.good (id int);",
        ),
        (
            "migrations/2_broken.sql",
            "-- A comment first.\ncreate table public.half (id int);\n\
             insert into public.half values ('no number');\n",
        ),
    ]);

    let failed = folder.start_failing(&[]).expect_code(1);

    let message = failed.failure();
    assert!(message.contains("2_broken.sql:3:"), "{message}");
    assert!(
        message.contains("no number") && message.contains("22P02"),
        "{message}"
    );
    failed.says(&["This file was rolled back", "--no-migrate"]);
    assert!(!folder.state().join("running.json").exists());
    folder.cli(&["status"]).expect_code(3);

    folder.write(
        "supabase/migrations/2_broken.sql",
        "create table public.half (id int);",
    );
    let server = Instance::start(&folder, &[]);
    let versions = "select version from supabase_migrations.schema_migrations order by 1";
    assert_eq!(rows(server.db_url(), versions), ["1", "2"]);
    assert_eq!(value(server.db_url(), "select count(*) from half"), "0");
}

#[test]
fn a_broken_seed_stops_the_start_and_names_the_file() {
    let folder = Folder::with(&[("seed.sql", "select 1;\n\ninsert into nowhere values (1);\n")]);

    let failed = folder.start_failing(&[]).expect_code(1);

    failed.says(&["seed.sql:3:", "nowhere"]);
    folder.write(
        "supabase/seed.sql",
        "create table public.somewhere (id int);",
    );
    let server = Instance::start(&folder, &[]);
    assert_eq!(
        value(server.db_url(), "select count(*) from somewhere"),
        "0"
    );
}

#[test]
fn a_server_killed_within_a_migration_applies_it_whole_at_the_next_start() {
    let slow = "create table public.half (id int);\nselect pg_sleep(60);\n";
    let folder = Folder::with(&[("migrations/1_slow.sql", slow)]);
    let first = Instance::spawn(&folder, &["start", "--port", "auto"]);
    eventually(Duration::from_secs(60), "the migration runs", || {
        let processes = crate::support::postgres_processes(&folder.data_dir());
        processes.into_iter().find(|pid| is_in_a_select(*pid))
    });

    first.kill9();
    folder.write(
        "supabase/migrations/1_slow.sql",
        "create table public.half (whole int);",
    );
    let second = Instance::start(&folder, &[]);

    let db = second.db_url();
    assert_eq!(
        rows(
            db,
            "select version from supabase_migrations.schema_migrations"
        ),
        ["1"]
    );
    assert!(
        try_rows(db, "select whole from half").is_ok(),
        "the new file was applied"
    );
    let sleeping = "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' \
                    and pid <> pg_backend_pid()";
    assert_eq!(value(db, sleeping), "0");
}

/// PostgreSQL shows in its title what a process does.
fn is_in_a_select(pid: u32) -> bool {
    let title = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    title.trim_end_matches('\0').trim_end().ends_with("SELECT")
}
