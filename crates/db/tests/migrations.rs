//! System migrations.

use plinth_db::migrate::{Migration, MigrationSet, check_not_newer, is_current, migrate};
use plinth_testkit::TestDatabase;

const fn migration(version: i32, name: &'static str, sql: &'static str) -> Migration {
    Migration { version, name, sql }
}

const GOOD: MigrationSet = MigrationSet {
    service: "example",
    migrations: &[
        migration(
            1,
            "one",
            "create table public.one (id int); insert into public.one values (1)",
        ),
        migration(2, "two", "alter table public.one add column two int"),
    ],
};

#[tokio::test]
async fn each_file_runs_once() {
    let db = TestDatabase::create().await;
    let mut client = db.admin().await;

    assert!(!is_current(&client, &[GOOD]).await.expect("asked"));
    assert_eq!(migrate(&mut client, &[GOOD]).await.expect("applied"), 2);
    assert!(is_current(&client, &[GOOD]).await.expect("asked"));
    assert_eq!(
        migrate(&mut client, &[GOOD]).await.expect("nothing to do"),
        0
    );
}

#[tokio::test]
async fn several_nodes_at_once_do_not_collide() {
    let db = TestDatabase::create().await;
    let run = || async {
        let mut client = db.admin().await;
        migrate(&mut client, &[GOOD]).await.expect("applied")
    };

    let (a, b, c, d) = tokio::join!(run(), run(), run(), run());

    assert_eq!(a + b + c + d, 2);
    let row = db
        .admin()
        .await
        .query_one("select count(*) from public.one", &[])
        .await
        .expect("a row");
    assert_eq!(row.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn a_rejected_file_leaves_nothing_and_is_named() {
    const BAD: MigrationSet = MigrationSet {
        service: "example",
        migrations: &[migration(
            1,
            "half",
            "create table public.half (id int); select 1/0",
        )],
    };
    let db = TestDatabase::create().await;
    let mut client = db.admin().await;

    let error = migrate(&mut client, &[BAD])
        .await
        .expect_err("rejected")
        .to_string();

    assert!(
        error.contains("example/0001_half") && error.contains("division by zero"),
        "{error}"
    );
    let row = client
        .query_one("select to_regclass('public.half') is null", &[])
        .await
        .expect("a row");
    assert!(row.get::<_, bool>(0));
    assert_eq!(
        migrate(&mut client, &[GOOD])
            .await
            .expect("the lock is free"),
        2
    );
}

#[tokio::test]
async fn a_newer_schema_than_the_program_knows_is_rejected() {
    const OLD: MigrationSet = MigrationSet {
        service: "example",
        migrations: &[migration(1, "one", "select 1")],
    };
    let db = TestDatabase::create().await;
    let mut client = db.admin().await;
    migrate(&mut client, &[GOOD]).await.expect("applied");

    let error = migrate(&mut client, &[OLD])
        .await
        .expect_err("rejected")
        .to_string();

    assert!(error.contains("newer plinth"), "{error}");
    let error = check_not_newer(&client, &[OLD])
        .await
        .expect_err("rejected");
    assert!(error.to_string().contains("newer plinth"), "{error}");
    let is_current = is_current(&client, &[OLD]).await.expect("asked");
    assert!(is_current, "a running node continues during an upgrade");
}

#[tokio::test]
async fn a_role_that_may_read_the_ledger_sees_whether_it_is_current() {
    let db = TestDatabase::create().await;
    let mut admin = db.admin().await;
    migrate(&mut admin, &[GOOD]).await.expect("applied");
    admin
        .batch_execute(
            "grant usage on schema plinth to anon; grant select on plinth.migrations to anon",
        )
        .await
        .expect("granted");
    let reader = db.connect_as("anon").await;

    assert!(is_current(&reader, &[GOOD]).await.expect("asked"));
}

#[tokio::test]
async fn a_trigger_of_the_user_does_not_run_with_our_rights() {
    const WRITES: MigrationSet = MigrationSet {
        service: "example",
        migrations: &[migration(
            1,
            "writes",
            "insert into auth.schema_migrations values ('9999')",
        )],
    };
    let db = TestDatabase::create().await;
    let owner = db.connect_as("postgres").await;
    owner
        .batch_execute(
            "create table public.caught (who text);
             create function public.catch() returns trigger language plpgsql as $$
             begin
                 insert into public.caught values (current_user);
                 return new;
             end $$;
             create trigger catch before insert on auth.schema_migrations
                 for each row execute function public.catch();",
        )
        .await
        .expect("users may have triggers on our tables");

    migrate(&mut db.admin().await, &[WRITES])
        .await
        .expect("applied");

    let row = db
        .admin()
        .await
        .query_one("select count(*) from public.caught", &[])
        .await
        .expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0);
}
