//! Settings in the database, which win over those of environment and file (rest contract §9).

use plinth_rest::PostgrestConfig;
use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

/// A login role of this name, and a connection that has assumed it.
async fn login(db: &TestDatabase, name: &str, settings: &[&str]) -> Client {
    let admin = db.admin().await;
    let mut sql = format!("create role {name} noinherit;");
    for setting in settings {
        let setting = setting.replace("DB", db.name());
        sql.push_str(&format!("alter role {name} {setting};"));
    }
    admin.batch_execute(&sql).await.expect("the role");
    db.connect_as(name).await
}

fn from_environment(pairs: &[(&str, &str)]) -> PostgrestConfig {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    PostgrestConfig::load(None, pairs).expect("good values")
}

#[track_caller]
fn check(dump: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            dump.lines().any(|found| found == *line),
            "no {line} in\n{dump}"
        );
    }
}

#[tokio::test]
async fn the_roles_settings_win_and_those_in_this_database_most() {
    let db = TestDatabase::create().await;
    let client = login(
        &db,
        "config_strength",
        &[
            "set pgrst.db_schemas = 'test, tenant1'",
            "set pgrst.db_max_rows = '500'",
            "set pgrst.db_anon_role = 'anonymous'",
            "set pgrst.not_existing = 'ignored'",
            "set pgrst.server_port = 'ignored'",
            "in database DB set pgrst.db_max_rows = '77'",
            "in database postgres set pgrst.db_anon_role = 'of another database'",
        ],
    )
    .await;
    let base = from_environment(&[
        ("PGRST_DB_SCHEMAS", "from_environment"),
        ("PGRST_SERVER_PORT", "1234"),
    ]);

    let dump = base.with_database(&client).await.expect("good").dump();

    check(
        &dump,
        &[
            "db-schemas = \"test,tenant1\"",
            "db-max-rows = 77",
            "db-anon-role = \"anonymous\"",
            "server-port = 1234",
        ],
    );
}

#[tokio::test]
async fn a_function_may_set_what_the_role_does_not() {
    let db = TestDatabase::create().await;
    let client = login(
        &db,
        "config_function",
        &[
            "set pgrst.db_schemas = 'of_role'",
            "set pgrst.jwt_aud = 'a'",
        ],
    )
    .await;
    let admin = db.admin().await;
    admin
        .batch_execute(
            "create function public.configure() returns void language plpgsql as $$ begin \
             perform set_config('pgrst.db_schemas', 'of_function', true), \
                     set_config('pgrst.db_tx_end', 'rollback', true); end $$",
        )
        .await
        .expect("a function");
    let base = from_environment(&[("PGRST_DB_PRE_CONFIG", "public.configure")]);

    let dump = base.with_database(&client).await.expect("good").dump();

    check(
        &dump,
        &[
            "db-schemas = \"of_role\"",
            "db-tx-end = \"rollback\"",
            "jwt-aud = \"a\"",
        ],
    );
    let left = client
        .query_one("select current_setting('pgrst.db_tx_end', true)", &[])
        .await
        .expect("a value");
    assert_ne!(left.get::<_, Option<&str>>(0), Some("rollback"));
}

#[tokio::test]
async fn a_function_that_the_role_names_is_called_at_once() {
    let db = TestDatabase::create().await;
    let client = login(
        &db,
        "config_named",
        &["set pgrst.db_pre_config = 'configure_me'"],
    )
    .await;
    let admin = db.admin().await;
    admin
        .batch_execute(
            "create function public.configure_me() returns void language sql as \
             $$ select set_config('pgrst.db_max_rows', '5', true) $$",
        )
        .await
        .expect("a function");

    let config = from_environment(&[]).with_database(&client).await;

    check(&config.expect("good").dump(), &["db-max-rows = 5"]);
}

#[tokio::test]
async fn settings_of_the_database_alone_have_no_effect() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    let sql = format!("alter database {} set pgrst.db_max_rows = '5'", db.name());
    admin.batch_execute(&sql).await.expect("altered");
    let client = login(&db, "config_database", &[]).await;

    let config = from_environment(&[]).with_database(&client).await;

    check(&config.expect("good").dump(), &["db-max-rows = \"\""]);
}

#[tokio::test]
async fn with_db_config_off_the_database_has_no_say() {
    let db = TestDatabase::create().await;
    let client = login(&db, "config_off", &["set pgrst.db_max_rows = '5'"]).await;
    let base = from_environment(&[("PGRST_DB_CONFIG", "false")]);

    let dump = base.with_database(&client).await.expect("good").dump();

    check(&dump, &["db-max-rows = \"\"", "db-config = false"]);
}

#[tokio::test]
async fn mistakes_in_the_database_are_reported_all_at_once() {
    let db = TestDatabase::create().await;
    let client = login(
        &db,
        "config_mistakes",
        &[
            "set pgrst.db_tx_end = 'never'",
            "set pgrst.jwt_secret = 'short'",
            "set pgrst.db_schemas = 'pg_catalog'",
        ],
    )
    .await;

    let problems = from_environment(&[]).with_database(&client).await;

    let problems = problems.expect_err("three mistakes");
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(
        problems
            .iter()
            .any(|warning| warning.starts_with("pgrst.db_tx_end: \"never\""))
    );
}
