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
        while !sleeping.is_finished() && began.elapsed() < Duration::from_secs(25) {
            cancel
                .cancel_query(tokio_postgres::NoTls)
                .await
                .expect("the proxy accepts connections");
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
fn no_project_reaches_another() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop_ref = shop["PLINTH_REF"].as_str().expect("a ref");
    let shop_url = shop["DB_URL"].as_str().expect("a URL");
    let default_ref = server.value("PLINTH_REF");

    let server_url = shop_url.strip_suffix("/postgres").expect("a database");
    let expect_closed = || {
        for other in ["template1", "plinth_template", default_ref] {
            let url = format!("{server_url}/{other}");
            let failed = try_rows(&url, "select 1").expect_err("not theirs");
            assert!(failed.starts_with("3D000"), "{other}: {failed}");
        }
    };
    expect_closed();
    let own = format!("{server_url}/{shop_ref}");
    assert_eq!(value(&own, "select current_user"), "postgres");
    // Its password is valid for its own project only.
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
        let failed = try_rows(shop_url, forbidden);
        assert!(failed.is_err(), "{forbidden} worked: {failed:?}");
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
}

/// The superuser's password is in a file of the server; with it, its port would open every project.
#[test]
fn only_owners_of_projects_pass_whatever_their_password() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let password = superuser_password(&folder);
    let reference = server.value("PLINTH_REF");

    for role in [
        "supabase_admin",
        "authenticator",
        "service_role",
        &format!("owner_{reference}"),
        &format!("authenticator_{reference}"),
        "postgres.nonsense",
    ] {
        let login = format!("{role}:{password}@");
        let url = server.db_url().replace("postgres:postgres@", &login);
        let failed = try_rows(&url, "select 1").expect_err("rejected");
        assert!(failed.starts_with("28000"), "{role}: {failed}");
        assert!(failed.contains("postgres.<ref>"), "{role}: {failed}");
    }
}

#[test]
fn wrong_passwords_are_slowed_down_and_logged() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let wrong = server
        .db_url()
        .replace("postgres:postgres@", "postgres:guess@");

    let began = Instant::now();
    for _ in 0..3 {
        let failed = try_rows(&wrong, "select 1").expect_err("rejected");
        assert!(failed.starts_with("28P01"), "{failed}");
    }
    let guessing = began.elapsed();
    let began = Instant::now();
    assert_eq!(value(server.db_url(), "select 1"), "1");

    // Half a second, one, two.
    assert!(guessing >= Duration::from_millis(3_500), "{guessing:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "the owner waits");
    let log = server.stderr();
    assert!(log.contains("login to the database failed"), "{log}");
    assert!(!log.contains("guess"), "{log}");
}

#[test]
fn settings_and_password_of_shared_roles_are_the_projects_own() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop_url = shop["DB_URL"].as_str().expect("a URL").to_owned();
    let stored = "select string_agg(name || '=' || value, ' ' order by name) \
                  from plinth_roles.settings where role = 'anon'";

    rows(
        &shop_url,
        "begin; create table t (id int); alter role anon set statement_timeout = '9s'; \
         insert into t values (1); commit",
    );
    // The extended protocol, as drivers speak it.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let connected = tokio_postgres::connect(&shop_url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("a connection");
        tokio::spawn(connection);
        let set = "ALTER ROLE anon SET work_mem TO '7MB'";
        client.execute(set, &[]).await.expect("carried out");
    });

    assert_eq!(
        value(&shop_url, stored),
        "statement_timeout=9s work_mem=7MB"
    );
    assert_eq!(value(server.db_url(), stored), "statement_timeout=3s");
    let failed = try_rows(&shop_url, "alter role anon set log_statement = 'all'");
    assert!(failed.expect_err("not theirs").starts_with("42501"));
}

#[test]
fn the_password_of_postgres_is_that_of_the_projects_database() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop_url = shop["DB_URL"].as_str().expect("a URL").to_owned();
    let reference = shop["PLINTH_REF"].as_str().expect("a ref");

    rows(&shop_url, "alter user postgres with password 'my own'");

    let failed = try_rows(&shop_url, "select 1").expect_err("the old password");
    assert!(failed.starts_with("28P01"), "{failed}");
    let (head, tail) = shop_url.rsplit_once('@').expect("an address");
    let (user, _) = head.rsplit_once(':').expect("a password");
    let own = format!("{user}:my%20own@{tail}");
    assert_eq!(value(&own, "select 1"), "1");
    assert_eq!(
        value(server.db_url(), "select 1"),
        "1",
        "others keep theirs"
    );
    let shown = server.cli_json(&["db", "url", "--ref", reference]);
    assert!(shown["DB_URL"].to_string().contains("[YOUR-PASSWORD]"));

    let reset = server.cli_json(&["db", "password", "--ref", reference]);
    assert_eq!(
        value(reset["DB_URL"].as_str().expect("a URL"), "select 1"),
        "1"
    );
}

/// The one with which Plinth itself connects.
fn superuser_password(folder: &Folder) -> String {
    let file = std::fs::read_to_string(folder.state().join("database-password"));
    file.expect("the file").trim().to_owned()
}

#[test]
fn the_database_proxy_survives_malformed_packets() {
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
        let mut stream = std::net::TcpStream::connect(address).expect("the database proxy");
        stream.write_all(noise).expect("written");
    }
    // A silent client does not block others.
    let _silent: Vec<_> = (0..50)
        .map(|_| std::net::TcpStream::connect(address).expect("the database proxy"))
        .collect();

    eventually(Duration::from_secs(30), "an honest connection", || {
        try_rows(server.db_url(), "select 1").ok()
    });
    assert!(!server.stderr().contains("panicked"), "{}", server.stderr());
}

/// Functions connect to an address of their own: one of a project without a password of another one's owner
/// must not be able to keep all connections for tools.
#[cfg(target_os = "linux")]
#[test]
fn pending_logins_of_functions_leave_connections_to_tools() {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
        sync::mpsc,
    };

    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let url = server.db_url().to_owned();
    let port = url::Url::parse(&url)
        .expect("a URL")
        .port()
        .expect("its port");
    let mut startup = 196_608_u32.to_be_bytes().to_vec();
    startup.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
    let length = u32::try_from(startup.len() + 4).expect("a short packet");
    let startup = [&length.to_be_bytes(), &startup[..]].concat();

    // More than tools and functions have in all, each in a thread that never sends a password.
    let (asked, asked_for_password) = mpsc::channel();
    for _ in 0..80 {
        let (startup, asked) = (startup.clone(), asked.clone());
        std::thread::spawn(move || {
            let mut client = TcpStream::connect(("127.80.76.73", port)).expect("a connection");
            client.write_all(&startup).expect("written");
            let mut kind = [0];
            _ = client.read_exact(&mut kind);
            _ = asked.send(kind);
            // Until the server closes it.
            _ = client.read_to_end(&mut Vec::new());
        });
    }
    for _ in 0..16 {
        let kind = asked_for_password.recv_timeout(Duration::from_secs(60));
        assert_eq!(kind.expect("a reply"), *b"R");
    }

    assert_eq!(value(&url, "select 1"), "1");
}
