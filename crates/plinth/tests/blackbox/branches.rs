//! Branches of a project with other sessions.

use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::support::{Folder, Instance, Session, eventually, rows, value};

#[test]
fn a_branch_is_made_although_psql_is_open_and_says_which_way() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    rows(
        server.db_url(),
        "create table items (id int primary key, note text);
         insert into items select n, 'ü ' || n from generate_series(1, 1000) n",
    );
    if Command::new("psql").arg("--version").output().is_err() {
        eprintln!("there is no psql to test with");
        return;
    }
    let mut psql = Command::new("psql")
        .args(["-X", "-q", server.db_url()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("psql starts");
    eventually(Duration::from_secs(10), "psql is connected", || {
        let sql = "select count(*) from pg_stat_activity where application_name = 'psql'";
        (value(server.db_url(), sql) != "0").then_some(())
    });

    let made = server
        .cli(&["branches", "create", "try-it", "-o", "json"])
        .expect_success();
    made.says(&["psql", "dumped and restored"]);
    let branch = made.json();
    assert_eq!(branch["COPY_METHOD"], "dumped");
    assert_eq!(branch["STATUS"], "ACTIVE_HEALTHY");
    let reason = branch["COPY_REASON"].as_str().expect("a reason");
    assert!(reason.contains("psql"), "{reason}");
    let url = branch["DB_URL"].as_str().expect("a URL");
    assert_eq!(
        value(url, "select count(*) || max(note) from items"),
        "1000ü 999"
    );
    assert!(
        psql.try_wait().expect("psql can be asked").is_none(),
        "psql goes on"
    );
    let health = format!(
        "/p/{}/auth/v1/health",
        branch["PLINTH_REF"].as_str().expect("a ref")
    );
    server.http().get(&health).expect_status(200);

    let early = server.cli_json(&["branches", "create", "later", "--no-wait"]);
    assert_eq!(early["STATUS"], "COMING_UP");
    assert!(early["JOB"].as_str().is_some(), "{early}");
    eventually(Duration::from_secs(30), "it comes up", || {
        let list = server.cli_json(&["branches", "list"]);
        let of_it = |branch: &&serde_json::Value| branch["name"] == "later";
        let later = list.as_array().into_iter().flatten().find(of_it);
        (later?["preview_project_status"] == "ACTIVE_HEALTHY").then_some(())
    });

    let forced = server.cli_json(&["branches", "create", "forced", "--end-sessions"]);
    assert_eq!(forced["COPY_METHOD"], "copied");
    drop(psql.stdin.take());
    _ = psql.wait();
}

#[test]
fn a_branch_is_compared_rebased_and_merged() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    rows(server.db_url(), "create table items (id int primary key)");
    let branch = server.cli_json(&["branches", "create", "try-it"]);
    let url = branch["DB_URL"].as_str().expect("a URL");
    rows(
        url,
        "alter table items add note text; insert into items values (1, 'x')",
    );
    rows(server.db_url(), "create table theirs (id int primary key)");

    let diff = server.cli(&["branches", "diff", "try-it", "--schema", "public"]);
    let early = server.cli(&["branches", "merge", "try-it", "--yes"]);
    let rebased = server.cli(&["branches", "rebase", "try-it"]);
    let merged = server.cli(&["branches", "merge", "try-it", "--yes"]);
    let again = server.cli(&["branches", "merge", "try-it", "--yes"]);
    let advisors = server.cli_json(&["db", "advisors", "--level", "error"]);
    let strict = server.cli(&["db", "advisors", "--fail-on", "error"]);

    let added = "alter table public.items add column note text;";
    let diff = diff.expect_success();
    assert!(diff.stdout.contains(added), "{}", diff.stdout);
    assert!(
        early.stderr.contains("rebase the branch first"),
        "{}",
        early.stderr
    );
    rebased.expect_success();
    assert!(merged.expect_success().stdout.contains(added));
    again.expect_success().says(&["nothing to merge"]);
    let columns = "select string_agg(attname, ',' order by attnum) from pg_attribute
                   where attrelid = 'items'::regclass and attnum > 0";
    assert_eq!(value(server.db_url(), columns), "id,note");
    assert_eq!(value(server.db_url(), "select count(*) from items"), "0");
    assert_eq!(value(server.db_url(), "select count(*) from theirs"), "0");
    let found = advisors.as_array().expect("a list");
    assert!(
        found
            .iter()
            .any(|lint| lint["name"] == "rls_disabled_in_public"),
        "{advisors}"
    );
    strict.expect_code(1);
}

#[test]
fn a_branch_of_a_project_that_is_written_to_is_one_moment_of_it() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let writer = Session::open(server.db_url());
    writer.run(
        "create table here (id int primary key, amount bigint);
         create table there (id int primary key, amount bigint);
         insert into here select n, 1000 from generate_series(1, 20000) n;
         insert into there values (1, 0)",
    );
    let stop = AtomicBool::new(false);

    let branch = std::thread::scope(|scope| {
        let writes = scope.spawn(|| {
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                writer.run(
                    "begin; update here set amount = amount - 1 where id = 1;
                     update there set amount = amount + 1; commit",
                );
                count += 1;
            }
            count
        });
        let branch = server.cli(&["branches", "create", "try-it", "-o", "json"]);
        stop.store(true, Ordering::Relaxed);
        assert!(writes.join().expect("the writer ends") > 0);
        branch.expect_success().json()
    });

    assert_eq!(branch["COPY_METHOD"], "dumped");
    let sum = "select (select sum(amount) from here) + (select sum(amount) from there)";
    let url = branch["DB_URL"].as_str().expect("a URL");
    assert_eq!(value(url, sum), "20000000");
    assert_eq!(value(server.db_url(), sum), "20000000");
}

#[test]
fn a_killed_server_leaves_no_half_made_branch() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let session = Session::open(server.db_url());
    // The rows never arrive: their check waits for the kill, in the branch only.
    session.run(
        "create function slow(id int) returns boolean language plpgsql as $$
         begin
             if session_user like 'loader%' then perform pg_catalog.pg_sleep(600); end if;
             return true;
         end $$;
         create table items (id int primary key check (slow(id)));
         insert into items values (1)",
    );
    let branch = server.cli_json(&["branches", "create", "try-it", "--no-wait"]);
    let reference = branch["PLINTH_REF"].as_str().expect("a ref").to_owned();
    let databases = format!("select count(*) from pg_database where datname = '{reference}'");
    eventually(Duration::from_secs(10), "its database is there", || {
        (value(server.db_url(), &databases) == "1").then_some(())
    });
    server.kill9();
    drop(session);

    let server = Instance::start(&folder, &[]);

    let left = format!(
        "select datname from pg_database where datname = '{reference}' union all \
         select rolname from pg_roles where rolname like '%{reference}'"
    );
    assert!(
        rows(server.db_url(), &left).is_empty(),
        "neither database nor roles"
    );
    let list = server.cli_json(&["branches", "list"]);
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(value(server.db_url(), "select count(*) from items"), "1");
    server
        .cli(&["branches", "create", "try-it"])
        .expect_success();
}
