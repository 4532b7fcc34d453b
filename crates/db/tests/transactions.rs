//! Transactions with local settings, against a real PostgreSQL.

use std::time::Duration;

use plinth_db::{Access, Begin, DbError, LocalSettings, Pool, PoolConfig, Step};
use plinth_testkit::TestDatabase;
use tokio_postgres::error::SqlState;

async fn pool(db: &TestDatabase, size: usize) -> Pool {
    let config = PoolConfig {
        size,
        acquire_timeout: Duration::from_millis(500),
        ..PoolConfig::default()
    };
    Pool::new(db.target().clone(), config)
}

fn settings<'a>(pairs: &[(&'a str, &'a str)]) -> LocalSettings<'a> {
    let mut settings = LocalSettings::default();
    for (name, value) in pairs {
        settings.set(*name, *value);
    }
    settings
}

/// How many sessions of the pool are inside a transaction, as the server sees it.
async fn in_transaction(db: &TestDatabase) -> i64 {
    let sql = "select count(*) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()
                 and backend_type = 'client backend' and state <> 'idle'";
    db.admin()
        .await
        .query_one(sql, &[])
        .await
        .expect("a count")
        .get(0)
}

async fn wait_until_idle(db: &TestDatabase) {
    for _ in 0..200 {
        if in_transaction(db).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("a session stayed in its transaction");
}

#[tokio::test]
async fn settings_hold_for_one_transaction_only() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    let local = settings(&[
        ("role", "anon"),
        ("request.jwt.claims", r#"{"role":"anon"}"#),
    ]);
    let sql = "select current_user::text, current_setting('request.jwt.claims', true)";

    let inside = pool
        .run(Access::ReadOnly, &local, sql, &[])
        .await
        .expect("rows");
    let after = pool
        .run(Access::ReadOnly, &LocalSettings::default(), sql, &[])
        .await
        .expect("rows");

    assert_eq!(inside[0].get::<_, &str>(0), "anon");
    assert_eq!(inside[0].get::<_, &str>(1), r#"{"role":"anon"}"#);
    assert_eq!(after[0].get::<_, &str>(0), "supabase_admin");
    assert_eq!(after[0].get::<_, Option<&str>>(1), Some(""));
}

#[tokio::test]
async fn a_read_only_transaction_rejects_writes() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    db.admin()
        .await
        .batch_execute("create table public.t (id int)")
        .await
        .expect("a table");

    let sql = "insert into public.t values (1)";
    let rejected = pool
        .run(Access::ReadOnly, &LocalSettings::default(), sql, &[])
        .await;
    pool.run(Access::ReadWrite, &LocalSettings::default(), sql, &[])
        .await
        .expect("a write");

    let error = rejected.expect_err("rejected");
    assert_eq!(error.sqlstate(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
}

#[tokio::test]
async fn the_first_error_is_reported_and_nothing_is_kept() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    db.admin()
        .await
        .batch_execute("create table public.t (id int primary key)")
        .await
        .expect("a table");
    let run = |local: LocalSettings<'static>, sql: &'static str| {
        let pool = pool.clone();
        async move { pool.run(Access::ReadWrite, &local, sql, &[]).await }
    };

    let unknown_role = run(settings(&[("role", "nobody_here")]), "select 1").await;
    let twice = run(
        LocalSettings::default(),
        "insert into public.t values (1), (1)",
    )
    .await;
    let fine = run(LocalSettings::default(), "select count(*) from public.t")
        .await
        .expect("rows");

    let code = unknown_role.expect_err("no such role");
    assert_eq!(code.sqlstate(), Some(&SqlState::INVALID_PARAMETER_VALUE));
    assert_eq!(
        twice.expect_err("twice").sqlstate(),
        Some(&SqlState::UNIQUE_VIOLATION)
    );
    assert_eq!(fine[0].get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_deferred_constraint_fails_at_the_commit() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    db.admin()
        .await
        .batch_execute(
            "create table public.a (id int primary key);
             create table public.b (a int references public.a deferrable initially deferred)",
        )
        .await
        .expect("tables");

    let sql = "insert into public.b values (1)";
    let rejected = pool
        .run(Access::ReadWrite, &LocalSettings::default(), sql, &[])
        .await;

    let code = rejected.expect_err("rejected at the end");
    assert_eq!(code.sqlstate(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
    assert_eq!(in_transaction(&db).await, 0);
}

#[tokio::test]
async fn an_open_transaction_is_rolled_back_when_it_is_dropped() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    db.admin()
        .await
        .batch_execute("create table public.t (id int)")
        .await
        .expect("a table");
    let none = LocalSettings::default();

    let (transaction, _) = pool
        .begin(
            Begin::default(),
            &none,
            &[Step::typed("insert into public.t values (1)", &[])],
        )
        .await
        .expect("open");
    drop(transaction);

    // The pool's only connection must return in a clean state.
    let rows = pool
        .run(
            Access::ReadOnly,
            &none,
            "select count(*) from public.t",
            &[],
        )
        .await;
    assert_eq!(rows.expect("rows")[0].get::<_, i64>(0), 0);
    let (mut transaction, _) = pool
        .begin(
            Begin::default(),
            &none,
            &[Step::typed("insert into public.t values (1)", &[])],
        )
        .await
        .expect("open");
    transaction
        .query("insert into public.t values (2)", &[])
        .await
        .expect("more");
    transaction.commit().await.expect("kept");
    let rows = pool
        .run(
            Access::ReadOnly,
            &none,
            "select count(*) from public.t",
            &[],
        )
        .await;
    assert_eq!(rows.expect("rows")[0].get::<_, i64>(0), 2);
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_statement() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    let none = LocalSettings::default();

    let slow = pool.run(Access::ReadWrite, &none, "select pg_sleep(30)", &[]);
    assert!(
        tokio::time::timeout(Duration::from_millis(300), slow)
            .await
            .is_err()
    );

    wait_until_idle(&db).await;
    let rows = pool.run(Access::ReadOnly, &none, "select 1", &[]).await;
    assert!(rows.is_ok(), "the pool's only place is free again");
}

#[tokio::test]
async fn abandoned_requests_never_leave_a_transaction_behind() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 4).await;
    db.admin()
        .await
        .batch_execute("create table public.t (id int)")
        .await
        .expect("a table");
    let none = LocalSettings::default();

    for round in 0..60_u64 {
        let sql = "insert into public.t select 1 from pg_sleep(0.005)";
        let work = pool.run(Access::ReadWrite, &none, sql, &[]);
        _ = tokio::time::timeout(Duration::from_micros(round * 200), work).await;
    }

    wait_until_idle(&db).await;
    for _ in 0..8 {
        let sql = "select pg_current_xact_id_if_assigned() is null";
        let rows = pool
            .run(Access::ReadOnly, &none, sql, &[])
            .await
            .expect("rows");
        assert!(
            rows[0].get::<_, bool>(0),
            "a fresh transaction has no id yet"
        );
    }
}

#[tokio::test]
async fn an_exhausted_pool_says_so_in_time() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    let _held = pool.get().await.expect("the only connection");

    let result = pool
        .run(Access::ReadOnly, &LocalSettings::default(), "select 1", &[])
        .await;

    assert!(matches!(result, Err(DbError::PoolTimeout)));
}

#[tokio::test]
async fn a_terminated_session_is_replaced() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    let none = LocalSettings::default();
    pool.run(Access::ReadOnly, &none, "select 1", &[])
        .await
        .expect("rows");
    let sql = "select pg_terminate_backend(pid, 5000) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()
                 and backend_type = 'client backend'";
    db.admin().await.query(sql, &[]).await.expect("terminated");

    let mut responded = false;
    for _ in 0..50 {
        match pool.run(Access::ReadOnly, &none, "select 1", &[]).await {
            Ok(_) => {
                responded = true;
                break;
            }
            // The loss may be noticed only by the next statement.
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
    assert!(responded);
}

#[tokio::test]
async fn prepared_statements_are_kept_and_bounded() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    let mut connection = pool.get().await.expect("a connection");

    for n in 0..400 {
        for sql in [&*format!("select {n}"), "select 'hot'"] {
            connection.query(sql, &[]).await.expect("rows");
        }
    }

    let sql = "select count(*), count(*) filter (where statement = 'select ''hot''')
               from pg_prepared_statements";
    let rows = connection.query(sql, &[]).await.expect("rows");
    assert!(rows[0].get::<_, i64>(0) <= 260);
    assert_eq!(rows[0].get::<_, i64>(1), 1, "what is used stays");
}

#[tokio::test]
async fn a_statement_is_prepared_as_the_role_that_runs_it() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1).await;
    db.admin()
        .await
        .batch_execute(
            "create schema hidden; create table hidden.t (id int);
             grant select on hidden.t to anon, authenticated; grant usage on schema hidden to anon",
        )
        .await
        .expect("a schema that only one role may enter");
    let sql = "select count(*) from hidden.t";

    for _ in 0..2 {
        let anon = pool
            .run(Access::ReadOnly, &settings(&[("role", "anon")]), sql, &[])
            .await;
        let other = pool
            .run(
                Access::ReadOnly,
                &settings(&[("role", "authenticated")]),
                sql,
                &[],
            )
            .await;
        assert!(anon.is_ok());
        let rejected = other.expect_err("what anon prepared is of no use to others");
        assert_eq!(rejected.sqlstate(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
    }
    assert_eq!(in_transaction(&db).await, 0);
}
