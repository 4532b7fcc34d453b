//! Our own driver, against a real PostgreSQL.

use std::time::Duration;

use bytes::Bytes;
use plinth_db::{Access, Begin, DbError, End, Literal, LocalSettings, Pool, PoolConfig, Row, Step};
use plinth_testkit::TestDatabase;
use tokio_postgres::error::SqlState;

fn pool(db: &TestDatabase, size: usize) -> Pool {
    let config = PoolConfig {
        size,
        acquire_timeout: Duration::from_millis(500),
        ..PoolConfig::default()
    };
    Pool::new(db.target().clone(), config)
}

/// One statement of literals, prepared from the second time on.
async fn literals(pool: &Pool, sql: &str, values: &[Literal<'_>]) -> Result<Vec<Row>, DbError> {
    let steps = [Step::literals(sql, values, true)];
    let none = LocalSettings::default();
    let rows = pool.run_steps(Begin::default(), &none, &steps, End::Commit);
    Ok(rows.await?.pop().unwrap_or_default())
}

async fn session(pool: &Pool) -> i32 {
    let rows = literals(pool, "select pg_catalog.pg_backend_pid()", &[]).await;
    rows.expect("rows")[0].get(0)
}

#[tokio::test]
async fn a_statement_gives_the_same_whether_it_is_new_seen_or_prepared() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let values = [
        Literal::Text("7".into()),
        Literal::Utf8(Bytes::from_static("ü".as_bytes())),
        Literal::Binary(Bytes::from_static(b"\x00\xff")),
        Literal::Null,
    ];

    for _ in 0..4 {
        let sql = "select $1 + 1 as n, $2 || '!' as t, $3::bytea as b, $4::int as nothing";
        let rows = literals(&pool, sql, &values).await.expect("rows");

        let row = &rows[0];
        assert_eq!(row.get::<_, i32>("n"), 8);
        assert_eq!(row.get::<_, &str>("t"), "ü!");
        assert_eq!(row.raw("b").as_deref(), Some(&b"\x00\xff"[..]));
        assert_eq!(row.get::<_, Option<i32>>("nothing"), None);
    }
    let sql = "select count(*) from pg_prepared_statements where statement like 'select $1 + 1%'";
    let rows = literals(&pool, sql, &[]).await.expect("rows");
    assert_eq!(rows[0].get::<_, i64>(0), 1);
}

#[tokio::test]
async fn responses_of_any_size_arrive_whole() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);

    for length in [0, 1, 8_179, 8_180, 8_181, 8_192, 8_193, 100_000, 5_000_000] {
        let sql = "select n, pg_catalog.repeat('x', $1) as text from generate_series(1, 3) n";
        let values = [Literal::Text(length.to_string().into())];
        let rows = literals(&pool, sql, &values).await.expect("rows");

        assert_eq!(rows.len(), 3);
        for (row, n) in rows.iter().zip(1..) {
            assert_eq!(row.get::<_, i32>("n"), n);
            let text = row.raw("text").expect("a text");
            assert!(text.len() == length && text.iter().all(|byte| *byte == b'x'));
        }
    }
}

#[tokio::test]
async fn many_small_rows_arrive_whole() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);

    let sql = "select n, pg_catalog.repeat('y', n % 50) from generate_series(1, 20000) n";
    let rows = literals(&pool, sql, &[]).await.expect("rows");

    assert_eq!(rows.len(), 20_000);
    for (row, n) in rows.iter().zip(1..) {
        assert_eq!(row.get::<_, i32>(0), n);
        assert_eq!(row.get::<_, &str>(1).len(), n as usize % 50);
    }
}

#[tokio::test]
async fn large_statements_and_large_results_do_not_deadlock() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let large = "z".repeat(4_000_000);
    let values = [Literal::Text(large.as_str().into())];
    let step = Step::literals("select $1::text as echo", &values, true);

    let none = LocalSettings::default();
    let steps = [step, step, step];
    let work = pool.run_steps(Begin::default(), &none, &steps, End::Commit);
    let work = tokio::time::timeout(Duration::from_secs(30), work);
    let rows = work.await.expect("in time").expect("rows");

    assert_eq!(rows.len(), 3);
    for rows in rows {
        assert_eq!(rows[0].get::<_, &str>("echo"), large);
    }
}

#[tokio::test]
async fn a_rejected_statement_costs_no_session() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let before = session(&pool).await;

    for _ in 0..3 {
        let rejected = literals(&pool, "select 1 / $1::int", &[Literal::Text("0".into())]).await;
        let code = rejected.expect_err("rejected");
        assert_eq!(code.sqlstate(), Some(&SqlState::DIVISION_BY_ZERO));
    }

    assert_eq!(session(&pool).await, before);
}

#[tokio::test]
async fn an_error_has_all_that_postgres_said() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let sql = "create table public.t (id int constraint positive check (id > 0))";
    literals(&pool, sql, &[]).await.expect("a table");

    let rejected = literals(&pool, "insert into public.t values (-1)", &[]).await;

    let error = rejected.expect_err("rejected");
    let error = error.pg_error().expect("by Postgres");
    assert_eq!(error.sqlstate(), "23514");
    assert_eq!(error.schema.as_deref(), Some("public"));
    assert_eq!(error.table.as_deref(), Some("t"));
    assert_eq!(error.constraint.as_deref(), Some("positive"));
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (-1)."));
    assert_eq!(error.routine.as_deref(), Some("ExecConstraints"));
}

#[tokio::test]
async fn a_session_that_discarded_its_statements_goes_on() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let before = session(&pool).await;

    for _ in 0..3 {
        literals(&pool, "select 1 as one", &[]).await.expect("rows");
        literals(&pool, "deallocate all", &[]).await.expect("done");

        let rows = literals(&pool, "select 1 as one", &[]).await.expect("rows");
        assert_eq!(rows[0].get::<_, i32>("one"), 1);
    }
    assert_eq!(session(&pool).await, before);
}

#[tokio::test]
async fn a_statement_outlives_a_change_of_its_table() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let ddl = "create table public.t (a int); insert into public.t values (1)";
    let mut connection = pool.get().await.expect("a connection");
    connection.batch_execute(ddl).await.expect("a table");
    drop(connection);
    let sql = "select * from public.t";
    for _ in 0..3 {
        literals(&pool, sql, &[]).await.expect("rows");
    }

    let ddl = "alter table public.t add b int default 2";
    literals(&pool, ddl, &[]).await.expect("a column");

    let row = &literals(&pool, sql, &[]).await.expect("rows")[0];
    assert_eq!((row.get::<_, i32>("a"), row.get::<_, i32>("b")), (1, 2));
}

#[tokio::test]
async fn what_was_not_requested_is_skipped() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let mut connection = pool.get().await.expect("a connection");

    let noisy = "do $$ begin raise notice 'a'; raise warning 'b'; end $$;
                 listen heard; notify heard; set application_name = 'other'";
    connection.batch_execute(noisy).await.expect("done");
    let rows = connection.query("select 1", &[]).await.expect("rows");

    assert_eq!(rows[0].get::<_, i32>(0), 1);
    let affected = connection.execute("select generate_series(1, 5)", &[]);
    assert_eq!(affected.await.expect("rows"), 5);
}

#[tokio::test]
async fn values_that_do_not_fit_leave_the_connection_usable() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let mut connection = pool.get().await.expect("a connection");
    let sql = "select $1::int + 1";

    let wrong_type = connection.query(sql, &[&"text"]).await;
    let too_few = connection.query(sql, &[]).await;
    let zero_byte = connection.query("select '\0'", &[]).await;
    let in_batch = connection.batch_execute("select '\0'").await;
    let rows = connection.query(sql, &[&1_i32]).await.expect("rows");

    assert!(matches!(wrong_type, Err(DbError::Misuse(_))));
    assert!(matches!(too_few, Err(DbError::Misuse(_))));
    assert!(matches!(zero_byte, Err(DbError::Misuse(_))));
    assert!(matches!(in_batch, Err(DbError::Misuse(_))));
    assert_eq!(rows[0].get::<_, i32>(0), 2);
}

#[tokio::test]
async fn copy_is_rejected_without_harm() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let none = LocalSettings::default();

    let rejected = pool.run(Access::ReadWrite, &none, "copy (select 1) to stdout", &[]);

    assert!(matches!(rejected.await, Err(DbError::Misuse(_))));
    let rows = pool.run(Access::ReadOnly, &none, "select 1", &[]).await;
    assert_eq!(rows.expect("rows")[0].get::<_, i32>(0), 1);
}

#[tokio::test]
async fn a_dropped_connection_comes_back_clean_or_not_at_all() {
    let db = TestDatabase::create().await;
    let pool = pool(&db, 1);
    let before = session(&pool).await;

    let mut connection = pool.get().await.expect("a connection");
    let begin = "begin; create temp table left_over ()";
    connection.batch_execute(begin).await.expect("begun");
    drop(connection);
    let mut connection = pool.get().await.expect("the same connection");
    let sql = "select pg_catalog.to_regclass('pg_temp.left_over') is null";
    let rows = connection.query(sql, &[]).await.expect("rows");
    assert!(rows[0].get::<_, bool>(0), "rolled back");

    let slow = connection.query("select pg_sleep(30)", &[]);
    let slow = tokio::time::timeout(Duration::from_millis(200), slow);
    assert!(slow.await.is_err());
    drop(connection);

    assert_ne!(session(&pool).await, before, "closed");
}
