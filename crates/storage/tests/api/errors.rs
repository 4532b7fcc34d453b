//! Errors (storage contract §1.1, §1.3, §11).

use std::time::Duration;

use http::Method;
use plinth_db::PoolConfig;

use crate::support::{ANN, ErrorBody, Requests, Sql, StorageCall, StorageReply, TestApi, until};

#[tokio::test]
async fn a_route_that_is_none_says_so() {
    let api = TestApi::start().await;
    let reply = api.get("/bucket/a/b?x=1").service_role().await;
    reply.fails_with_status(
        404,
        ErrorBody(
            404,
            "InvalidRequest",
            "Not Found",
            "Route GET:/bucket/a/b not found",
        ),
    );
    for path in ["/", "/nothing", "/object", "/object/b", "/bucket/b/empty/x"] {
        assert_eq!(api.get(path).service_role().await.status, 404, "{path}");
    }
    let patch = api.call(Method::PATCH, "/object/b/k").service_role().await;
    assert_eq!(patch.status, 404);
}

#[tokio::test]
async fn a_service_that_is_switched_off_has_no_routes() {
    let api = TestApi::with(&[("storage.enabled", "false")]).await;
    assert_eq!(api.get("/bucket").service_role().await.status, 404);
}

#[tokio::test]
async fn bodies_that_are_no_json_are_rejected() {
    let api = TestApi::start().await;
    let post = async |body: &str| {
        let call = api.call(Method::POST, "/bucket").service_role();
        call.body("application/json", body).await
    };
    let reply = post("{ no json").await;
    reply.fails_with_code(400, "InvalidRequest");
    assert_eq!(reply.json()["error"], "FastifyError");
    post("[1]").await.rejects_field("body must be object");
    post("")
        .await
        .rejects_field("body must have required property 'name'");
    let deep = "[".repeat(10_000);
    post(&deep).await.fails_with_code(400, "InvalidRequest");
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1024 * 1024));
    post(&large).await.fails_with_status(
        413,
        ErrorBody(
            413,
            "EntityTooLarge",
            "FastifyError",
            "Request body is too large",
        ),
    );
}

#[tokio::test]
async fn a_writer_who_waits_too_long_for_another_gives_up() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let admin = api.admin().await;
    let lock = "select pg_advisory_lock(hashtextextended('b/a', 0))";
    admin.batch_execute(lock).await.expect("locked");

    let reply = api.upload("b/a", "x").service_role().await;

    reply.fails_with(ErrorBody(
        503,
        "LockTimeout",
        "acquiring_lock_timeout",
        "acquiring lock timeout",
    ));
    api.collect_garbage().await;
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.ledger().await, (0, 0));
    drop(admin);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended() {
    let api = TestApi::with(&[("plinth.storage.statement_timeout", "5s")]).await;
    api.has_bucket("b", false).await;
    api.has_object("b/a", "x").await;
    api.execute(
        "create policy slow on storage.objects for select to authenticated
         using (pg_sleep(60) is not null)",
    )
    .await;
    let reply = api.get("/object/b/a").user(ANN).await;
    reply.fails_with_status(
        544,
        ErrorBody(
            544,
            "DatabaseTimeout",
            "DatabaseTimeout",
            "The connection to the database timed out",
        ),
    );
}

#[tokio::test]
async fn what_users_sql_raises_has_a_meaning() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let with_policy = async |expression: &str| {
        api.execute("drop policy if exists p on storage.objects")
            .await;
        api.execute(&format!(
            "create policy p on storage.objects for insert to authenticated
             with check ({expression})"
        ))
        .await;
        api.upload("b/a", "x").user(ANN).await
    };
    api.execute(
        "create function public.raise(state text) returns boolean language plpgsql as $$
         begin raise exception 'as asked' using errcode = state; end $$",
    )
    .await;
    for (state, said, code) in [
        ("42501", 403, "AccessDenied"),
        ("23505", 409, "KeyAlreadyExists"),
        ("23503", 404, "InvalidRequest"),
        ("55P03", 423, "ResourceLocked"),
        ("25006", 503, "DatabaseReadOnly"),
        ("40001", 409, "TransactionError"),
        ("42P17", 503, "DatabaseInvalidObjectDefinition"),
        ("22P02", 400, "InvalidParameter"),
        ("42703", 503, "DatabaseSchemaMismatch"),
        ("42P01", 503, "DatabaseSchemaMismatch"),
        ("P0001", 400, "DatabaseError"),
    ] {
        let reply = with_policy(&format!("public.raise('{state}')")).await;
        reply.fails_with_code(said, code);
    }
    let reply = with_policy("public.raise('XX000')").await;
    reply.fails_with_status(
        500,
        ErrorBody(
            500,
            "DatabaseError",
            "DatabaseError",
            "database error, code: XX000",
        ),
    );
    assert_eq!(api.files(), (0, 0));
}

#[tokio::test]
async fn a_store_that_fails_is_a_fault_and_says_nothing_of_itself() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.has_object("b/before", "old").await;
    api.break_store();
    let fault = || ErrorBody(500, "InternalError", "Internal", "Internal Server Error");

    let upload = api.upload("b/a", "x").service_role().await;
    upload.fails_with_status(500, fault());
    let overwrite = api.upload("b/before", "new").service_role().upsert().await;
    overwrite.fails_with_status(500, fault());

    assert_eq!(api.count("select count(*) from storage.objects").await, 1);
    assert_eq!(api.ledger().await.0, 0, "it is not waited for any more");
    api.mend_store();
    api.get("/object/public/b/before")
        .await
        .expect_text(200, "old");
    api.upload("b/a", "x").service_role().await.expect_ok();
    api.collect_garbage_later().await;
    assert_eq!(api.ledger().await, (0, 0));
    assert_eq!(api.files(), (0, 2));
}

#[tokio::test]
async fn a_database_that_has_no_connection_left_asks_to_slow_down() {
    let pool = PoolConfig {
        size: 1,
        acquire_timeout: Duration::from_millis(200),
        ..PoolConfig::default()
    };
    let api = TestApi::pooled(&[], pool).await;
    api.has_bucket("b", false).await;
    api.has_object("b/a", "x").await;
    api.execute(
        "create policy slow on storage.objects for select to authenticated
         using (pg_sleep(2) is not null)",
    )
    .await;
    let slow = tokio::spawn(std::future::IntoFuture::into_future(
        api.get("/object/b/a").user(ANN),
    ));
    let asleep = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event = 'PgSleep'";
    until(async || api.count(asleep).await == 1).await;
    let reply = api.get("/bucket").service_role().await;
    reply.fails_with_status(
        429,
        ErrorBody(
            429,
            "SlowDown",
            "too_many_connections",
            "Too many connections issued to the database",
        ),
    );
    slow.await.expect("it ends").expect_ok();
}
