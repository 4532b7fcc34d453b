//! The database's port, as psql and other tools use it (console contract F50).

use std::time::{Duration, Instant};

use crate::support::{Folder, Instance, eventually, psql, rows, skip, try_rows, value};

const WHO: &str = "select session_user, current_user, current_database()";

#[test]
fn psql_reaches_each_project_as_its_owner() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let url = server.db_url().to_owned();
    let Some(who) = psql(&url, &["-c", WHO]) else {
        return skip("psql is not installed");
    };
    let psql = |url: &str, sql: &str| psql(url, &["-c", sql]).expect("psql is there");
    let default_ref = server.value("PLINTH_REF");
    assert_eq!(
        who.expect_success().stdout.trim(),
        format!("owner_{default_ref}|postgres|postgres")
    );

    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop_ref = shop["PLINTH_REF"].as_str().expect("a ref").to_owned();
    let shop_url = shop["DB_URL"].as_str().expect("a URL").to_owned();
    assert_eq!(
        psql(&shop_url, WHO).expect_success().stdout.trim(),
        format!("owner_{shop_ref}|postgres|{shop_ref}")
    );
    let by_alias = url.replace("postgres:postgres@", "postgres.default:postgres@");
    assert_eq!(
        value(&by_alias, WHO),
        format!("owner_{default_ref}|postgres|postgres")
    );

    let made = "create schema app; create table app.t (id serial primary key); \
                create function app.f() returns int language sql as 'select 1'";
    psql(&url, made).expect_success();
    let owners = "select distinct pg_get_userbyid(relowner) from pg_class where relnamespace = \
                  'app'::regnamespace union select pg_get_userbyid(proowner) from pg_proc where \
                  pronamespace = 'app'::regnamespace";
    assert_eq!(rows(&url, owners), ["postgres"]);
    let described = psql(&url, "\\d app.t").expect_success().stdout;
    assert!(described.contains("id|integer"), "{described}");
    psql(&url, "\\dn").expect_success();
    // What the official command line sends first.
    psql(&url, "set session role postgres; reset all; select 1").expect_success();
    let cancelled = psql(&url, "set statement_timeout = 100; select pg_sleep(30)").expect_code(1);
    cancelled.says(&["canceling statement due to statement timeout"]);

    let wrong = url.replace(":postgres@", ":wrong@");
    psql(&wrong, "select 1")
        .expect_code(2)
        .says(&["password authentication failed"]);
    let unknown = url.replace(
        "postgres:postgres@",
        "postgres.abcdefghijklmnopqrst:postgres@",
    );
    psql(&unknown, "select 1")
        .expect_code(2)
        .says(&["password authentication failed"]);
}

#[test]
fn a_cancel_request_reaches_its_statement() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");

    let cancelled = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(server.db_url(), tokio_postgres::NoTls)
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let cancel = client.cancel_token();
        let sleeping =
            tokio::spawn(async move { client.simple_query("select pg_sleep(30)").await });
        let began = Instant::now();
        // The request is ignored until the statement runs.
        while !sleeping.is_finished() && began.elapsed() < Duration::from_secs(10) {
            cancel
                .cancel_query(tokio_postgres::NoTls)
                .await
                .expect("the door is open");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        sleeping
            .await
            .expect("no panic")
            .expect_err("it was cancelled")
    });

    assert_eq!(
        cancelled.code().map(|code| code.code()),
        Some("57014"),
        "{cancelled}"
    );
}

#[test]
fn nobody_in_one_project_reaches_another() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop_ref = shop["PLINTH_REF"].as_str().expect("a ref");
    let shop_url = shop["DB_URL"].as_str().expect("a URL");
    let default_ref = server.value("PLINTH_REF");

    let as_owner = shop_url.replace(
        &format!("postgres.{shop_ref}"),
        &format!("owner_{shop_ref}"),
    );
    let expect_closed = || {
        for other in ["postgres", "template1", "plinth_template"] {
            // The owner by its own name asks for other databases.
            let url = as_owner.replace("/postgres", &format!("/{other}"));
            let refused = try_rows(&url, "select 1").expect_err("not theirs");
            let is_closed = refused.starts_with("42501") || refused.starts_with("55000");
            assert!(is_closed, "{other}: {refused}");
        }
    };
    expect_closed();
    let own = as_owner.replace("/postgres", &format!("/{shop_ref}"));
    assert_eq!(value(&own, "select current_user"), "postgres");
    // Its password opens nobody else's door.
    let crossed = shop_url.replace(&format!("postgres.{shop_ref}"), "postgres");
    assert!(
        try_rows(&crossed, "select 1")
            .expect_err("wrong password")
            .starts_with("28P01")
    );

    for forbidden in [
        "set role supabase_admin",
        &format!("set session authorization owner_{default_ref}"),
        "set role authenticator",
        &format!("set role owner_{default_ref}"),
        &format!("alter role owner_{default_ref} password 'taken'"),
        "alter role postgres login password 'taken'",
        "alter role supabase_admin password 'taken'",
        "create role sneaky superuser",
        "alter system set log_connections = on",
        "copy (select 1) to program 'true'",
        "select pg_read_file('PG_VERSION')",
        "select * from pg_authid",
        "create extension dblink",
        &format!("drop role owner_{default_ref}"),
        &format!("grant owner_{default_ref} to postgres"),
        "grant pg_read_all_data to postgres",
        "alter database postgres connection limit 0",
        "select * from plinth.schema_versions",
        "drop database postgres",
    ] {
        let refused = try_rows(shop_url, forbidden);
        assert!(refused.is_err(), "{forbidden} worked: {refused:?}");
    }
    // These succeed with a warning, and change nothing.
    rows(
        shop_url,
        &format!("grant connect on database postgres to owner_{shop_ref}"),
    );
    rows(
        shop_url,
        &format!("revoke connect on database postgres from owner_{default_ref}"),
    );
    expect_closed();
    assert_eq!(
        value(server.db_url(), "select 1"),
        "1",
        "the others are unharmed"
    );
    let made = try_rows(shop_url, "create role spy login password 'spy'");
    let as_spy = server.db_url().replace("postgres:postgres@", "spy:spy@");
    assert!(
        try_rows(&as_spy, "select 1").is_err(),
        "a role of theirs reaches others ({made:?})"
    );
    for role in ["supabase_admin", "authenticator", "anon", "service_role"] {
        let url = server
            .db_url()
            .replace("postgres:postgres@", &format!("{role}:postgres@"));
        assert!(try_rows(&url, "select 1").is_err(), "{role} logs in");
    }
}

#[test]
fn connections_survive_noise_at_the_door() {
    use std::io::Write;
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let (_, address) = server.db_url().split_once('@').expect("an address");
    let address = address.split('/').next().expect("host and port");

    for noise in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff\x00\x03\x00\x00",
        b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
        b"\x00\x00\x00\x09\x00\x03\x00\x00\x00",
        b"\x00\x00\x00\x0cuser\x00\x00\x00\x00",
    ] {
        let mut stream = std::net::TcpStream::connect(address).expect("the door");
        stream.write_all(noise).expect("written");
    }
    // Somebody who never says a word holds up nobody else.
    let _silent: Vec<_> = (0..50)
        .map(|_| std::net::TcpStream::connect(address).expect("the door"))
        .collect();

    eventually(Duration::from_secs(5), "an honest connection", || {
        try_rows(server.db_url(), "select 1").ok()
    });
    assert!(!server.stderr().contains("panicked"), "{}", server.stderr());
}
