//! SQL as a stream of events.

use std::time::Duration;

use plinth_db::{ScriptSession, SessionState};
use plinth_query::{
    ExplainOptions, QueryError,
    script::{EndState, Event, Outcome, Script, ScriptOptions, TransactionMode, run},
};
use plinth_testkit::{Sql as _, TestDatabase, until};
use tokio::sync::mpsc;

fn options() -> ScriptOptions {
    ScriptOptions {
        row_limit: None,
        cell_bytes: 1000,
        mode: TransactionMode::Script,
        is_restricted: false,
        timeout: Duration::from_secs(60),
    }
}

/// A script of statements without semicolons within.
fn script(text: &str) -> Script {
    let mut script = Script::new(text.to_owned());
    let mut start = 0;
    for part in text.split(';') {
        if !part.trim().is_empty() {
            script.push(start..start + part.len(), None);
        }
        start += part.len() + 1;
    }
    script
}

async fn session(db: &TestDatabase) -> ScriptSession {
    ScriptSession::open(db.target()).await.expect("a session")
}

/// A script of these statements.
fn of_parts(parts: &[&str]) -> Script {
    let mut script = Script::new(parts.join(";"));
    let mut start = 0;
    for part in parts {
        script.push(start..start + part.len(), None);
        start += part.len() + 1;
    }
    script
}

async fn run_with(
    session: &mut ScriptSession,
    text: &str,
    options: &ScriptOptions,
) -> (Vec<Event>, Outcome) {
    run_script(session, &script(text), options).await
}

async fn run_script(
    session: &mut ScriptSession,
    script: &Script,
    options: &ScriptOptions,
) -> (Vec<Event>, Outcome) {
    let (sender, mut receiver) = mpsc::channel(2);
    let collect = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    let running = async {
        let outcome = run(session, script, options, &sender).await;
        drop(sender);
        outcome
    };
    let (outcome, events) = tokio::join!(running, collect);
    (events, outcome)
}

/// Names of events, with what matters of them.
fn brief(events: &[Event]) -> Vec<String> {
    let describe = |event: &Event| match event {
        Event::Columns { statement, columns } => {
            let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
            format!("{statement} columns {}", names.join(","))
        }
        Event::Rows {
            statement, rows, ..
        } => {
            let rows = rows.iter().map(|row| {
                let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
                cells.collect::<Vec<_>>().join(",")
            });
            format!("{statement} rows {}", rows.collect::<Vec<_>>().join("/"))
        }
        Event::Notice {
            statement,
            severity,
            message,
            ..
        } => format!("{statement} {severity} {message}"),
        Event::Complete {
            statement,
            tag,
            rows,
            limited,
            ..
        } => {
            format!(
                "{statement} {tag} ({rows}{})",
                if *limited { ", more" } else { "" }
            )
        }
        Event::Error {
            statement,
            sqlstate,
            ..
        } => format!("{statement:?} error {sqlstate}"),
        Event::Start { .. } | Event::End { .. } => "unexpected".to_owned(),
    };
    events.iter().map(describe).collect()
}

#[tokio::test]
async fn statements_follow_one_another_as_events() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let script = of_parts(&[
        "create table t (id int)",
        "insert into t values (1), (2)",
        "select id, null as id from t",
        "do $$ begin raise warning 'careful'; end $$",
        "select",
    ]);
    let (events, outcome) = run_script(&mut session, &script, &options()).await;
    assert_eq!(
        brief(&events),
        [
            "0 CREATE TABLE (0)",
            "1 INSERT 0 2 (2)",
            "2 columns id,id",
            "2 rows 1,NULL/2,NULL",
            "2 SELECT 2 (2)",
            "3 WARNING careful",
            "3 DO (0)",
            "4 columns ",
            "4 rows ",
            "4 SELECT 1 (1)",
        ]
    );
    let expected = Outcome {
        state: EndState::Completed,
        completed: 5,
        kept: 5,
        session: Some(SessionState::Idle),
    };
    assert_eq!(outcome, expected);
}

#[tokio::test]
async fn an_error_in_the_middle_says_what_was_rolled_back() {
    let db = TestDatabase::create().await;
    db.execute("create table t (id int)").await;
    let text = "insert into t values (1); commit; insert into t values (2);\nselect *\n  from nothing; select 1";
    let mut session = session(&db).await;
    let (events, outcome) = run_with(&mut session, text, &options()).await;

    assert_eq!(
        (outcome.state, outcome.completed, outcome.kept),
        (EndState::Failed, 3, 2)
    );
    match events.last() {
        Some(Event::Error {
            statement,
            sqlstate,
            line,
            column,
            position,
            formatted,
            ..
        }) => {
            assert_eq!((*statement, &**sqlstate), (Some(3), "42P01"));
            assert_eq!((*line, *column), (Some(3), Some(8)));
            let position = position.expect("a position");
            assert!(text[position - 1..].starts_with("nothing"), "{position}");
            assert!(formatted.contains("LINE 3:   from nothing"), "{formatted}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(db.count("select count(*) from t").await, 1);
    // The session is of use again.
    let (events, _) = run_with(&mut session, "select 7", &options()).await;
    assert_eq!(brief(&events)[1], "0 rows 7");
}

#[tokio::test]
async fn each_statement_can_be_a_transaction() {
    let db = TestDatabase::create().await;
    let options = ScriptOptions {
        mode: TransactionMode::Statement,
        ..options()
    };
    let mut session = session(&db).await;
    let text = "create table t (id int); vacuum t; insert into t values (1); select 1/0; select 1";
    let (_, outcome) = run_with(&mut session, text, &options).await;
    assert_eq!(
        (outcome.state, outcome.completed, outcome.kept),
        (EndState::Failed, 3, 3)
    );
    assert_eq!(db.count("select count(*) from t").await, 1);
}

#[tokio::test]
async fn a_transaction_can_stay_open() {
    let db = TestDatabase::create().await;
    let options = ScriptOptions {
        mode: TransactionMode::Open,
        ..options()
    };
    let mut session = session(&db).await;
    session.batch_execute("begin").await.expect("begun");
    let (_, outcome) = run_with(&mut session, "create table t (id int)", &options).await;
    assert_eq!(
        (outcome.session, outcome.kept),
        (Some(SessionState::InTransaction), 0)
    );
    let (_, outcome) = run_with(&mut session, "select 1/0", &options).await;
    assert_eq!(outcome.session, Some(SessionState::InFailedTransaction));
    let (_, outcome) = run_with(&mut session, "rollback", &options).await;
    assert_eq!(outcome.session, Some(SessionState::Idle));
    assert_eq!(
        db.count("select count(*) from pg_class where relname = 't' and relkind = 'r'")
            .await,
        0
    );
}

#[tokio::test]
async fn a_limit_stops_the_statement_and_not_the_script() {
    let db = TestDatabase::create().await;
    let options = ScriptOptions {
        row_limit: Some(3),
        ..options()
    };
    let mut session = session(&db).await;
    let text = "select generate_series(1, 1000000000) as n; select 1; \
                copy (select n from generate_series(1, 10) n) to stdout";
    let (events, outcome) = run_with(&mut session, text, &options).await;
    assert_eq!(
        brief(&events),
        [
            "0 columns n",
            "0 rows 1/2/3",
            "0 SELECT 3 (3, more)",
            "1 columns ?column?",
            "1 rows 1",
            "1 SELECT 1 (1)",
            "2 columns copy",
            "2 rows 1\n/2\n/3\n",
            "2 COPY 10 (10, more)",
        ]
    );
    assert_eq!(outcome.completed, 3);
}

#[tokio::test]
async fn huge_cells_are_cut_while_they_arrive() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let text = "select repeat('é', 20000000) as a, 1 as b, repeat('x', 999) as c";
    let (events, _) = run_with(&mut session, text, &options()).await;
    match &events[1] {
        Event::Rows {
            rows, truncated, ..
        } => {
            assert_eq!(rows[0][0].as_deref(), Some(&*"é".repeat(500)));
            assert_eq!(rows[0][1].as_deref(), Some("1"));
            assert_eq!(truncated, &[(0, 0, 40_000_000)]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn rows_come_in_pieces_of_limited_size() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let text = "select repeat('x', 900) from generate_series(1, 500)";
    let (events, _) = run_with(&mut session, text, &options()).await;
    let sizes: Vec<usize> = events
        .iter()
        .filter(|event| matches!(event, Event::Rows { .. }))
        .map(|event| event.to_line().len())
        .collect();
    assert!(sizes.len() > 5, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 64 * 1024), "{sizes:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_the_server_back() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let canceller = session.canceller();
    let pid = session.pid();
    let (sender, receiver) = mpsc::channel(1);
    let running = tokio::spawn(async move {
        let script = script("select repeat('x', 900), generate_series(1, 1000000000)");
        run(&mut session, &script, &options(), &sender).await
    });
    // The server waits until somebody reads.
    let waits = format!(
        "select count(*) from pg_stat_activity where pid = {pid} and wait_event = 'ClientWrite'"
    );
    until(async || db.count(&waits).await == 1).await;

    drop(receiver);
    canceller.cancel().await.expect("cancelled");
    let outcome = running.await.expect("no panic");
    assert_eq!(outcome.state, EndState::Cancelled);
    assert_eq!(outcome.session, None);
}

#[tokio::test]
async fn statements_are_cancelled_and_time_out() {
    let db = TestDatabase::create().await;
    let mut first = session(&db).await;
    let canceller = first.canceller();
    let pid = first.pid();
    let opts = options();
    let running = run_with(&mut first, "select pg_sleep(600)", &opts);
    let cancel = async {
        let sleeps = format!(
            "select count(*) from pg_stat_activity where pid = {pid} and wait_event = 'PgSleep'"
        );
        until(async || db.count(&sleeps).await == 1).await;
        canceller.cancel().await.expect("cancelled");
    };
    let ((events, outcome), ()) = tokio::join!(running, cancel);
    assert_eq!(
        brief(&events),
        ["0 columns pg_sleep", "Some(0) error 57014"]
    );
    assert_eq!(outcome.state, EndState::Cancelled);

    let options = ScriptOptions {
        timeout: Duration::from_millis(50),
        ..options()
    };
    let parsed = of_parts(&["do $$ begin loop null; end loop; end $$"]);
    let (sender, mut receiver) = mpsc::channel(10);
    let outcome = run(&mut first, &parsed, &options, &sender).await;
    assert_eq!(outcome.state, EndState::TimedOut);
    assert!(matches!(receiver.recv().await, Some(Event::Error { .. })));
}

#[tokio::test]
async fn a_terminated_session_is_said_to_be_lost() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let pid = session.pid();
    let opts = options();
    let running = run_with(&mut session, "select pg_sleep(600)", &opts);
    let terminate = async {
        let sleeps = format!(
            "select count(*) from pg_stat_activity where pid = {pid} and wait_event = 'PgSleep'"
        );
        until(async || db.count(&sleeps).await == 1).await;
        db.execute(&format!("select pg_terminate_backend({pid})"))
            .await;
    };
    let ((events, outcome), ()) = tokio::join!(running, terminate);
    assert_eq!(
        brief(&events).last().map(String::as_str),
        Some("Some(0) error 57P01")
    );
    assert_eq!(
        (outcome.state, outcome.session),
        (EndState::Cancelled, None)
    );
}

#[tokio::test]
async fn what_cannot_be_run_is_explained() {
    let db = TestDatabase::create().await;
    db.execute("create table t (id int)").await;
    for (text, code, hint) in [
        ("copy t from stdin", "57014", "Import the file"),
        ("select 'a\0'", "22021", ""),
        ("select 1; vacuum", "25001", "Run this statement alone"),
        ("select $1", "08P01", ""),
    ] {
        let mut session = session(&db).await;
        let (events, outcome) = run_with(&mut session, text, &options()).await;
        match events.last() {
            Some(Event::Error {
                sqlstate,
                hint: found,
                ..
            }) => {
                assert_eq!(sqlstate, code, "{text}");
                assert!(
                    found.as_deref().unwrap_or_default().contains(hint),
                    "{text}: {found:?}"
                );
            }
            other => panic!("{text}: {other:?}"),
        }
        assert_ne!(outcome.state, EndState::Completed);
        let (events, _) = run_with(&mut session, "select 7", &self::options()).await;
        assert_eq!(brief(&events)[1], "0 rows 7", "after {text}");
    }
}

#[tokio::test]
async fn a_restricted_run_only_reads() {
    let db = TestDatabase::create().await;
    db.execute("create table t (id int)").await;
    let options = ScriptOptions {
        mode: TransactionMode::Open,
        is_restricted: true,
        ..options()
    };
    for (text, code) in [
        ("select 1; commit", "42501"),
        ("set role postgres", "42501"),
        ("do $$ begin end $$", "42501"),
        (
            "with x as (insert into t values (1) returning id) select * from x",
            "25006",
        ),
        (
            "select set_config('transaction_read_only', 'off', false)",
            "25001",
        ),
        ("explain analyze delete from t", "25006"),
    ] {
        let mut session = session(&db).await;
        session
            .batch_execute("begin read only; select 1")
            .await
            .expect("begun");
        let (events, _) = run_with(&mut session, text, &options).await;
        match events.last() {
            Some(Event::Error { sqlstate, .. }) => assert_eq!(sqlstate, code, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(db.count("select count(*) from t").await, 0);
}

#[tokio::test]
async fn deferred_constraints_fail_at_the_end() {
    let db = TestDatabase::create().await;
    db.execute(
        "create table t (id int primary key, up int references t deferrable initially deferred)",
    )
    .await;
    let mut session = session(&db).await;
    let (events, outcome) = run_with(&mut session, "insert into t values (1, 2)", &options()).await;
    assert_eq!(
        brief(&events).last().map(String::as_str),
        Some("Some(0) error 23503")
    );
    assert_eq!((outcome.state, outcome.kept), (EndState::Failed, 0));
}

#[tokio::test]
async fn a_script_of_ten_megabytes_runs() {
    let db = TestDatabase::create().await;
    let mut session = session(&db).await;
    let text = format!(
        "select length('{}'); select 2",
        "x".repeat(10 * 1024 * 1024)
    );
    let (events, outcome) = run_with(&mut session, &text, &options()).await;
    assert_eq!(brief(&events)[1], "0 rows 10485760");
    assert_eq!(outcome.completed, 2);
}

#[tokio::test]
async fn plans_leave_nothing_behind() {
    let db = TestDatabase::create().await;
    db.execute("create table t (id int)").await;
    let mut session = session(&db).await;
    let analyze = ExplainOptions { analyze: true };
    let plan =
        plinth_query::explain(&mut session, "-- why\ninsert into t values (1)", analyze).await;
    let plan: serde_json::Value = serde_json::from_str(&plan.expect("a plan")).expect("JSON");
    assert_eq!(plan[0]["Plan"]["Operation"], "Insert");
    assert!(plan[0]["Execution Time"].is_number());
    assert_eq!(db.count("select count(*) from t").await, 0);

    let error = plinth_query::explain(
        &mut session,
        "select *\nfrom nothing",
        ExplainOptions::default(),
    )
    .await;
    match error.expect_err("rejected") {
        QueryError::Rejected(rejection) => assert_eq!(rejection.position, Some(15)),
        other => panic!("{other}"),
    }
    let plan = plinth_query::explain(&mut session, "select 1", ExplainOptions::default()).await;
    assert!(plan.expect("a plan").contains("Result"));
}
