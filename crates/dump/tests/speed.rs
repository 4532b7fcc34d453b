//! How long a copy takes beside `pg_dump | psql`. Run with `--ignored --nocapture`.

mod support;

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use plinth_testkit::TestServer;
use support::{Source, find_pg_dump};

#[tokio::test]
#[ignore = "a measurement, not a test"]
async fn a_hundred_megabytes() {
    let source = Source::new().await;
    source
        .run(
            "create table public.big (id int primary key, at timestamptz default now(), note text, doc jsonb);
             insert into public.big
             select n, now(), md5(n::text) || md5(n::text), jsonb_build_object('n', n, 'tags', array['a', 'b'])
             from generate_series(1, 700000) n;
             create index on public.big (note);
             analyze",
        )
        .await;
    let size = source
        .admin
        .query_one("select pg_table_size('public.big') >> 20", &[])
        .await
        .expect("a size")
        .get::<_, i64>(0);

    let began = Instant::now();
    source.copy().await.expect("a copy");
    println!("plinth: {size} MB in {:.2?}", began.elapsed());

    let Ok(program) = find_pg_dump(source.version) else {
        return;
    };
    let connection = TestServer::shared().await.connection();
    source
        .run("create database beside template template0")
        .await;
    let with = |program: &std::path::Path, database: &str| {
        let mut command = Command::new(program);
        command
            .arg("--host")
            .arg(&connection.socket_dir)
            .arg("--port")
            .arg(connection.port.to_string())
            .args(["--username", &connection.superuser, "--dbname", database])
            .env("PGPASSWORD", &connection.password);
        command
    };
    let began = Instant::now();
    let mut dump = with(&program, source.database.name())
        .stdout(Stdio::piped())
        .spawn()
        .expect("pg_dump runs");
    let psql = program.with_file_name("psql");
    let status = with(&psql, "beside")
        .args(["-X", "-q"])
        .stdin(dump.stdout.take().expect("a pipe"))
        .stdout(Stdio::null())
        .status()
        .expect("psql runs");
    assert!(status.success() && dump.wait().expect("it ends").success());
    println!("pg_dump | psql: {size} MB in {:.2?}", began.elapsed());
}
