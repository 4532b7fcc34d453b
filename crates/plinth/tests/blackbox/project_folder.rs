//! A `supabase/` folder as people already have it: migrations, seed, and the commands about them.

use crate::support::{Folder, Instance, rows, value};

const APPLIED: &str = "select version || '_' || name from supabase_migrations.schema_migrations \
                       order by version";

fn shop() -> Folder {
    Folder::with(&[
        ("config.toml", "project_id = \"shop\"\n"),
        (
            "migrations/20240101000000_products.sql",
            "create table public.products (id int primary key, name text);\n",
        ),
        (
            "migrations/20240102000000_prices.sql",
            "alter table public.products add column price int;\n\
             create function public.price_of(int) returns int language sql\n\
             as $$ select price from public.products where id = $1; $$;\n",
        ),
        (
            "seed.sql",
            "insert into public.products values (1, 'semi;colon', 10);\n",
        ),
    ])
}

#[test]
fn a_folder_is_applied_in_order_and_seeded_once() {
    let folder = shop();

    let first = Instance::first_start(&folder, &[]);
    let db = first.db_url().to_owned();
    assert_eq!(
        rows(&db, APPLIED),
        ["20240101000000_products", "20240102000000_prices"]
    );
    assert_eq!(value(&db, "select public.price_of(1)"), "10");
    let recorded = "select array_length(statements, 1) from supabase_migrations.schema_migrations \
                    where version = '20240102000000'";
    assert_eq!(value(&db, recorded), "2", "the statements are kept");
    let owner = "select tableowner from pg_tables where tablename = 'products'";
    assert_eq!(value(&db, owner), "postgres");
    first.stop();

    let second = Instance::start(&folder, &[]);
    assert_eq!(
        value(&db, "select count(*) from products"),
        "1",
        "the seed ran once"
    );
    assert!(!second.stderr().contains("Applied"), "{}", second.stderr());

    expect_migration_commands(&folder, &second);
    expect_reset(&folder, &second);
}

fn expect_migration_commands(folder: &Folder, server: &Instance<'_>) {
    let db = server.db_url();
    let pretty = server.cli(&["migration", "list"]).expect_success().stdout;
    let lines: Vec<&str> = pretty.lines().collect();
    assert_eq!(lines.len(), 3, "{pretty}");
    assert!(
        lines[0].starts_with("LOCAL") && lines[0].contains("REMOTE"),
        "{pretty}"
    );
    assert!(
        lines[1].contains("2024-01-01 00:00:00") && lines[1].contains("products"),
        "{pretty}"
    );
    let list = server.cli_json(&["migration", "list", "--check"]);
    assert_eq!(list[1]["local"], "20240102000000");
    assert_eq!(list[1]["remote"], "20240102000000");

    let sql = "create table public.orders (id int);\n";
    let made = folder
        .cli_with_input(&["migration", "new", "orders"], sql)
        .expect_success();
    let path = made.stdout.trim();
    assert!(
        path.starts_with("supabase/migrations/2") && path.ends_with("_orders.sql"),
        "{path}"
    );
    assert_eq!(folder.read(path), sql);
    server
        .cli(&["migration", "new", "no/such name"])
        .expect_code(2);
    server.cli(&["migration", "list", "--check"]).expect_code(4);
    server
        .cli(&["migration", "up"])
        .expect_success()
        .says(&["Applied", "orders"]);
    server
        .cli(&["migration", "up"])
        .expect_success()
        .says(&["Nothing to apply"]);
    assert_eq!(value(db, "select count(*) from orders"), "0");

    let early = "supabase/migrations/20230101000000_early.sql";
    folder.write(early, "create table public.early (id int);\n");
    let failed = server.cli(&["migration", "up"]).expect_code(4);
    failed.says(&["20230101000000_early", "--include-all"]);
    assert_eq!(value(db, "select to_regclass('public.early') is null"), "t");
    server
        .cli(&["migration", "up", "--include-all"])
        .expect_success();
    assert_eq!(value(db, "select count(*) from early"), "0");

    let broken = "supabase/migrations/20990101000000_broken.sql";
    folder.write(
        broken,
        "create table public.half (id int);\n\nselect no_such_column;\n",
    );
    let failed = server.cli(&["migration", "up"]).expect_code(1);
    failed.says(&[
        "20990101000000_broken.sql:3:",
        "42703",
        "This file was rolled back",
    ]);
    assert_eq!(value(db, "select to_regclass('public.half') is null"), "t");
    std::fs::remove_file(folder.path().join(broken)).expect("it can be removed");
}

fn expect_reset(folder: &Folder, server: &Instance<'_>) {
    let db = server.db_url();
    assert_eq!(
        server.cli(&["db", "url"]).expect_success().stdout.trim(),
        db
    );
    assert_eq!(server.cli_json(&["db", "url"])["DB_URL"], db);
    rows(
        db,
        "create table public.by_hand (id int); delete from products",
    );
    let before = rows(db, APPLIED);

    server
        .cli(&["db", "reset"])
        .expect_code(2)
        .says(&["no terminal", "--yes"]);
    assert_eq!(
        value(db, "select count(*) from by_hand"),
        "0",
        "nothing was done unasked"
    );

    server.cli(&["db", "reset", "--yes"]).expect_success();
    assert_eq!(rows(db, APPLIED), before);
    assert_eq!(
        value(db, "select count(*) from products"),
        "1",
        "seeded again"
    );
    assert_eq!(
        value(db, "select to_regclass('public.by_hand') is null"),
        "t"
    );
    server.http().get("/auth/v1/health").expect_status(200);

    server.cli(&[
        "db",
        "reset",
        "--yes",
        "--no-seed",
        "--version",
        "20240101000000",
    ]);
    assert_eq!(
        rows(db, APPLIED).last().map(String::as_str),
        Some("20240101000000_products")
    );
    assert_eq!(value(db, "select count(*) from products"), "0");
    folder.cli(&["migration", "up"]).expect_success();
}

#[test]
fn no_migrate_leaves_the_folder_alone_and_odd_files_are_named() {
    let folder = shop();
    folder.write("supabase/migrations/notes.sql", "drop everything");
    folder.write("supabase/migrations/readme.md", "not SQL");

    let server = Instance::start(&folder, &["--no-migrate"]);
    assert_eq!(
        value(
            server.db_url(),
            "select to_regclass('public.products') is null"
        ),
        "t"
    );
    let up = server.cli(&["migration", "up"]).expect_success();
    up.says(&["not a migration", "notes.sql"]);
    assert!(!up.stderr.contains("readme.md"), "{}", up.stderr);

    let doubled = "supabase/migrations/20240101000000_again.sql";
    folder.write(doubled, "select 1;");
    server
        .cli(&["migration", "up"])
        .expect_code(1)
        .says(&["two migrations", "20240101000000"]);
    let products = "select to_regclass('public.products') is not null";
    // What could not be made again is not dropped.
    let reset = ["db", "reset", "--yes"];
    server.cli(&reset).expect_code(1).says(&["two migrations"]);
    std::fs::remove_file(folder.path().join(doubled)).expect("removed");
    // Root may read every file, but not as text.
    let seed = folder.path().join("supabase/seed.sql");
    std::fs::write(&seed, [0xff]).expect("written");
    server
        .cli(&reset)
        .expect_code(1)
        .says(&["cannot read", "seed.sql"]);
    assert_eq!(value(server.db_url(), products), "t");
    folder.write("supabase/seed.sql", "select 1;");
    server
        .cli(&[&reset[..], &["--version", "20230101000000"]].concat())
        .expect_code(2)
        .says(&["20230101000000"]);
    assert_eq!(value(server.db_url(), products), "t");
}

#[test]
fn two_migrations_made_at_once_have_two_versions() {
    let folder = Folder::new();
    let made: Vec<String> = std::thread::scope(|scope| {
        let make = |name| {
            let folder = &folder;
            scope.spawn(move || {
                let made = folder.cli(&["migration", "new", name]).expect_success();
                made.stdout.trim().to_owned()
            })
        };
        let running = ["one", "two", "three", "one"].map(make);
        running.map(|made| made.join().expect("made")).into()
    });

    let mut versions: Vec<&str> = made
        .iter()
        .filter_map(|path| path.rsplit('/').next()?.split('_').next())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 4, "{made:?}");
}
