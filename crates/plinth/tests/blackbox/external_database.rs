//! An external PostgreSQL.

use std::time::Duration;

use crate::support::{ExternalPostgres, Folder, Instance, eventually, rows, skip, try_rows, value};

const SYSTEM_SCHEMAS: &str = "select nspname from pg_namespace where nspname in ('auth', \
                              'storage', 'realtime', 'extensions', 'plinth', \
                              'supabase_migrations') order by 1";

#[test]
fn an_external_database_gets_the_same_schemas_and_projects() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let folder = Folder::with(&[
        (
            "migrations/1_items.sql",
            "create table public.items (id int);",
        ),
        ("seed.sql", "insert into public.items values (5);"),
    ]);

    let server = Instance::start(&folder, &["--database-url", &url]);

    assert!(!folder.data_dir().exists(), "no database of its own");
    let managed_folder = Folder::new();
    let managed = Instance::start(&managed_folder, &[]);
    assert_eq!(
        rows(&url, SYSTEM_SCHEMAS),
        rows(managed.db_url(), SYSTEM_SCHEMAS)
    );
    drop(managed);
    assert_eq!(value(&url, "select id from items"), "5");
    assert!(
        !server.db_url().contains("stock-password"),
        "{}",
        server.db_url()
    );
    assert!(
        !server.stderr().contains("stock-password"),
        "{}",
        server.stderr()
    );
    server.http().get("/auth/v1/health").expect_status(200);

    let shop = server.cli_json(&["projects", "create", "shop"]);
    let reference = shop["PLINTH_REF"].as_str().expect("a ref").to_owned();
    server
        .http()
        .get(&format!("/p/{reference}/auth/v1/health"))
        .expect_status(200);
    assert_eq!(
        rows(&external.url(&reference), SYSTEM_SCHEMAS),
        rows(&url, SYSTEM_SCHEMAS)
    );
    server.cli(&["doctor"]).expect_success();
    let status = server.status.clone();
    assert_eq!(server.stop().code(), Some(0));
    assert!(try_rows(&url, "select 1").is_ok(), "it is not ours to stop");

    let again = Instance::start(&folder, &["--database-url", &url]);
    for name in ["ANON_KEY", "SECRET_KEY", "PLINTH_REF"] {
        assert_eq!(again.status[name], status[name], "{name}");
    }
    assert_eq!(value(&url, "select count(*) from items"), "1");
}

#[test]
fn two_nodes_start_at_once_and_see_each_others_projects() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let folders = [Folder::new(), Folder::new()];
    let nodes = folders.each_ref().map(|folder| {
        let mut command = folder.command(&["start", "--port", "auto"]);
        command
            .env(
                "PLINTH_INSTANCE_KEY",
                "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
            )
            .env("PLINTH_DATABASE_URL", &url);
        Instance::spawn_command(folder, command)
    });

    let [one, two] = nodes.map(Instance::ready);

    for name in ["ANON_KEY", "SECRET_KEY", "PLINTH_REF", "JWT_SECRET"] {
        assert_eq!(one.status[name], two.status[name], "{name}");
    }
    for (here, there) in [(&one, &two), (&two, &one)] {
        let made = here.cli_json(&["projects", "create", "seen"]);
        let reference = made["PLINTH_REF"].as_str().expect("a ref");
        let health = format!("/p/{reference}/auth/v1/health");
        eventually(Duration::from_secs(30), "the other node serves it", || {
            (there.http().get(&health).status == 200).then_some(())
        });
        there
            .cli(&["projects", "pause", reference])
            .expect_success();
        eventually(Duration::from_secs(30), "the pause is seen here", || {
            (here.http().get(&health).status == 503).then_some(())
        });
    }
    let jwks = |node: &Instance<'_>| node.http().get("/auth/v1/.well-known/jwks.json").body;
    one.cli(&["keys", "rotate", "--signing", "--yes"])
        .expect_success();
    let rotated = eventually(Duration::from_secs(30), "both have the new key", || {
        (jwks(&one) == jwks(&two)).then(|| jwks(&one))
    });
    assert!(rotated.contains("kid"));

    let other_key = Folder::new();
    let failed = other_key
        .start_failing(&["--database-url", &url])
        .expect_code(1);
    assert!(
        failed.failure().contains("instance key"),
        "{}",
        failed.stderr
    );
    one.kill9();
    two.http().get("/ready").expect_status(200);
}
