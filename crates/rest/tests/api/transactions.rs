//! Settings of transactions, and how they end (rest contract §4.2).

use serde_json::{Value, json};

use crate::support::{Database, Requests, RestCall, RestReply, Sql, TestApi, sign};

#[tokio::test]
async fn sql_sees_the_whole_request() {
    let api = TestApi::library().await;
    let token = sign(&json!({ "role": "authenticated", "sub": "me", "n": [1, { "a": null }] }));

    let reply = api
        .post("/rpc/context", json!({}))
        .bearer(&token)
        .header("X-Twice", "1")
        .header("X-Twice", "2")
        .header("Cookie", "a=1; b=two")
        .await
        .json();

    assert_eq!(reply["user"], "authenticated");
    let claims = json!({ "role": "authenticated", "sub": "me", "n": [1, { "a": null }] });
    assert_eq!(reply["claims"], claims);
    assert_eq!(
        (&reply["method"], &reply["path"]),
        (&json!("POST"), &json!("/rpc/context"))
    );
    assert_eq!(reply["headers"]["x-twice"], "2", "the last one");
    assert_eq!(
        reply["headers"]["cookie"],
        Value::Null,
        "cookies stand apart"
    );
    assert_eq!(reply["cookies"], json!({ "a": "1", "b": "two" }));
    assert_eq!(reply["search_path"], "\"library\", \"public\"");
    assert_eq!(reply["legacy"], Value::Null, "no settings per claim");
}

#[tokio::test]
async fn anonymous_callers_have_a_role_among_their_claims() {
    let api = TestApi::library().await;

    let reply = api.get("/rpc/context").await.json();

    assert_eq!(reply["claims"], json!({ "role": "anon" }));
    assert_eq!(
        (&reply["user"], &reply["cookies"]),
        (&json!("anon"), &json!({}))
    );
}

#[tokio::test]
async fn reading_is_read_only_and_calling_is_so_by_volatility() {
    let api = TestApi::library().await;
    let read_only = async |call: crate::support::Call| call.await.json()["read_only"].clone();

    assert_eq!(read_only(api.get("/rpc/context")).await, "on");
    assert_eq!(read_only(api.post("/rpc/context", json!({}))).await, "off");
    assert_eq!(
        read_only(api.post("/rpc/stable_context", json!({}))).await,
        "on"
    );
}

#[tokio::test]
async fn settings_of_a_role_hold_for_who_has_it() {
    let db = Database::fresh().await;
    db.execute(
        "alter role anon in database DATABASE set statement_timeout = '1234ms'; \
         alter role authenticated in database DATABASE set statement_timeout = '8s'; \
         alter role service_role in database DATABASE \
           set default_transaction_isolation = 'repeatable read'",
    )
    .await;
    let api = TestApi::standalone(db, &[("db-schemas", "library")]).await;
    api.db
        .execute("grant usage on schema library to service_role")
        .await;

    let anon = api.get("/rpc/context").await.json();
    let user = api.get("/rpc/context").role("authenticated").await.json();
    let service = api.get("/rpc/context").role("service_role").await.json();

    assert_eq!(
        (&anon["timeout"], &anon["isolation"]),
        (&json!("1234ms"), &json!("read committed"))
    );
    assert_eq!(user["timeout"], "8s");
    assert_eq!(service["isolation"], "repeatable read");
}

#[tokio::test]
async fn settings_of_a_function_hold_for_its_whole_transaction() {
    let api = TestApi::library().await;

    let serial = api.post("/rpc/serial_context", json!({})).await;
    let hurried = api.post("/rpc/hurried", json!({})).await;

    serial.expect_json(200, json!("serializable"));
    hurried.expect_error(500, "57014", "canceling statement due to statement timeout");
}

#[tokio::test]
async fn settings_in_the_database_win() {
    let db = Database::fresh().await;
    db.execute("alter role authenticator in database DATABASE set pgrst.db_max_rows = '2'")
        .await;
    let full = TestApi::full(db, &[("api.schemas", "library")]).await;

    let first = full.get("/books?select=id").await;
    let sql = "alter role authenticator in database DATABASE set pgrst.db_max_rows = '3'";
    full.db.execute(sql).await;
    full.db.execute("notify pgrst, 'reload config'").await;
    full.reload().await;
    let second = full.get("/books?select=id").await;

    first.expect_header("content-range", "0-1/*");
    second.expect_header("content-range", "0-2/*");
}

#[tokio::test]
async fn settings_in_the_database_are_those_of_the_login_when_alone() {
    let db = Database::fresh().await;
    db.execute("alter role rest_login in database DATABASE set pgrst.db_schemas = 'library'")
        .await;
    db.execute("alter role authenticator in database DATABASE set pgrst.db_max_rows = '1'")
        .await;
    let api = TestApi::standalone(db, &[("db-schemas", "public")]).await;

    let reply = api.get("/books?select=id").await;

    reply.expect_header("content-range", "0-3/*");
}

#[tokio::test]
async fn the_end_of_a_transaction_can_be_chosen() {
    let cases = [
        ("commit", "tx=rollback", true),
        ("commit-allow-override", "", true),
        ("commit-allow-override", "tx=rollback", false),
        ("rollback", "tx=commit", false),
        ("rollback-allow-override", "", false),
        ("rollback-allow-override", "tx=commit", true),
    ];
    for (tx_end, prefer, lasts) in cases {
        let settings = [("db-schemas", "library"), ("db-tx-end", tx_end)];
        let api = TestApi::standalone(Database::fresh().await, &settings).await;

        let reply = api
            .post("/with_defaults?select=c", json!({ "c": "x" }))
            .prefer(&format!("return=representation, {prefer}"))
            .await;

        reply.expect_json(201, json!([{ "c": "x" }]));
        let applied = reply.header("preference-applied").expect("one at least");
        let may_choose = tx_end.ends_with("override") && !prefer.is_empty();
        assert_eq!(applied.contains("tx="), may_choose, "{tx_end} {applied}");
        let rows = api
            .db
            .count("select count(*) from library.with_defaults")
            .await;
        assert_eq!(rows, i64::from(lasts), "{tx_end} {prefer}");
    }
}

#[tokio::test]
async fn a_rollback_still_checks_deferred_constraints() {
    let settings = [("db-schemas", "library"), ("db-tx-end", "rollback")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let reply = api.patch("/deferred?id=eq.1", json!({ "rank": 2 })).await;

    reply.expect_error_code(409, "23505");
}

#[tokio::test]
async fn the_pre_request_function_is_asked_first() {
    let settings = [
        ("db-schemas", "library"),
        ("db-pre-request", "library.check_request"),
    ];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let passed = api.get("/rpc/context").await.json();
    assert_eq!(passed["checked"], "yes");
    for path in ["/books", "/rpc/context", "/"] {
        let banned = api.get(path).header("X-Banned", "1").await;
        banned.expect_error(403, "PT403", "Banned");
    }
    let unplanned = api.get("/nowhere").header("X-Banned", "1").await;
    unplanned.expect_error_code(404, "PGRST205");
}

#[tokio::test]
async fn triggers_may_choose_headers_and_status() {
    let api = TestApi::own_library().await;

    let reply = api
        .post("/stamped", json!({ "id": 1, "note": "seen" }))
        .await;

    assert_eq!((reply.status.as_u16(), reply.text()), (202, ""));
    reply.expect_header("x-stamp", "seen");
    let cookies: Vec<_> = reply.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
}

#[tokio::test]
async fn headers_of_the_response_replace_ours() {
    let api = TestApi::library().await;

    let reply = api
        .get("/rpc/respond?headers=[{\"Content-Type\":\"text/x\"},{\"Vary\":\"X\"},{\"Cache-Control\":\"no-store\"}]")
        .await;

    reply
        .expect_header("content-type", "text/x")
        .expect_header("vary", "X")
        .expect_header("cache-control", "no-store");
}

#[tokio::test]
async fn settings_of_the_application_arrive() {
    let settings = [("db-schemas", "library"), ("app.settings.jwt_exp", "99")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let reply = api.get("/rpc/context").await.json();

    assert_eq!(reply["jwt_exp"], "99");
}

/// Sequences are not rolled back.
#[tokio::test]
async fn a_function_that_fails_has_run_once() {
    let db = Database::fresh().await;
    db.execute(
        "create sequence library.runs; grant usage on library.runs to anon; \
         create function library.fails() returns int language plpgsql as $$ begin \
           perform nextval('library.runs'); \
           raise undefined_function using message = 'as if it were stale'; \
         end $$",
    )
    .await;
    let pool = plinth_db::PoolConfig {
        size: 1,
        ..Default::default()
    };
    let api = TestApi::pooled(db, &[("db-schemas", "library")], pool).await;

    for _ in 0..5 {
        let reply = api.post("/rpc/fails", json!({})).await;
        assert_eq!(reply.json()["code"], "42883", "{reply:#?}");
    }

    let runs = api.db.count("select last_value from library.runs").await;
    assert_eq!(runs, 5);
}

#[tokio::test]
async fn without_prepared_statements_nothing_has_a_name() {
    let db = Database::fresh().await;
    db.execute(
        "create view library.named as select count(*) from pg_prepared_statements; \
         grant select on library.named to anon",
    )
    .await;
    let pool = plinth_db::PoolConfig {
        size: 1,
        ..Default::default()
    };
    let settings = [
        ("db-schemas", "library"),
        ("db-prepared-statements", "false"),
    ];
    let api = TestApi::pooled(db, &settings, pool).await;

    for _ in 0..3 {
        assert_eq!(api.get("/").await.status, 200);
        assert_eq!(api.get("/books").await.status, 200);
    }

    api.get("/named")
        .await
        .expect_json(200, json!([{ "count": 0 }]));
}

#[tokio::test]
async fn origins_that_stand_in_the_database_count() {
    let db = Database::fresh().await;
    db.execute(
        "alter role rest_login in database DATABASE \
         set pgrst.server_cors_allowed_origins = 'http://ours.example'",
    )
    .await;
    let api = TestApi::standalone(db, &[("db-schemas", "library")]).await;
    let ask = |origin: &str| api.get("/books").header("Origin", origin);

    let theirs = ask("http://theirs.example").await;
    let ours = ask("http://ours.example").await;
    let preflight = api
        .options("/books")
        .header("Origin", "http://theirs.example")
        .header("Access-Control-Request-Method", "GET")
        .await;

    theirs.expect_no_header("access-control-allow-origin");
    ours.expect_header("access-control-allow-origin", "http://ours.example");
    preflight.expect_no_header("access-control-allow-origin");
}
