//! Projects and branches over the command line.

use std::time::Duration;

use crate::support::{Folder, Http, Instance, eventually, rows, try_rows, value};

#[test]
fn a_project_is_created_paused_resumed_and_deleted() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = server.http();

    let env = server
        .cli(&["projects", "create", "shop", "-o", "env"])
        .expect_success();
    assert!(env.took < Duration::from_secs(10), "{:?}", env.took);
    let of = |name: &str| {
        let start = format!("{name}=\"");
        let line = env
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("no {name} in {}", env.stdout))
            .trim_end_matches('"')
    };
    let (reference, url) = (of("PLINTH_REF").to_owned(), of("DB_URL").to_owned());
    assert_eq!(of("NAME"), "shop");
    assert_eq!(of("API_URL"), format!("{}/p/{reference}", server.api_url()));
    assert_ne!(of("SECRET_KEY"), server.value("SECRET_KEY"));
    rows(
        &url,
        "create table stock (id int); insert into stock values (1)",
    );
    let health = format!("/p/{reference}/auth/v1/health");
    http.get(&health).expect_status(200);

    server
        .cli(&["projects", "pause", &reference])
        .expect_success();
    let paused = responses(&http, &health, 503);
    assert_eq!(paused.code(), "project_paused");
    assert!(
        paused
            .header("retry-after")
            .is_some_and(|text| text.parse::<u32>().is_ok())
    );
    assert_eq!(status_of(&server, &reference), "INACTIVE");
    http.get("/auth/v1/health").expect_status(200);
    server
        .cli(&["migration", "list", "--ref", &reference])
        .expect_code(4)
        .says(&["paused"]);
    server
        .cli(&["projects", "resume", &reference])
        .expect_success();
    responses(&http, &health, 200);
    assert_eq!(value(&url, "select count(*) from stock"), "1");

    let delete = ["projects", "delete", &reference];
    server
        .cli(&delete)
        .expect_code(2)
        .says(&["no terminal", "--confirm"]);
    let wrong = server
        .cli(&[&delete[..], &["--confirm", "shoop"]].concat())
        .expect_code(4);
    wrong.says(&["not the name", "nothing was deleted"]);
    http.get(&health).expect_status(200);
    server
        .cli(&[&delete[..], &["--confirm", "shop"]].concat())
        .expect_success();
    responses(&http, &health, 404);

    server
        .cli(&["projects", "resume", &reference])
        .expect_success();
    responses(&http, &health, 200);
    assert_eq!(
        value(&url, "select count(*) from stock"),
        "1",
        "it came back with its data"
    );
    server
        .cli(&[&delete[..], &["--confirm", "shop", "--purge"]].concat())
        .expect_success();
    responses(&http, &health, 404);
    let left = format!(
        "select datname from pg_database where datname like '{reference}%' union all \
         select rolname from pg_roles where rolname like '%{reference}'"
    );
    assert!(
        rows(server.db_url(), &left).is_empty(),
        "database and roles are gone"
    );
    assert!(try_rows(&url, "select 1").is_err());
    server
        .cli(&["projects", "resume", &reference])
        .expect_code(1)
        .says(&["no project"]);
}

#[test]
fn the_default_and_the_platform_project_are_safe_from_deletion() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);

    for (project, name) in [("platform", "Platform"), ("default", "Default")] {
        let args = ["projects", "delete", project, "--purge", "--confirm", name];
        let failed = server.cli(&args);
        assert!(failed.code.is_some_and(|code| code != 0), "{failed:?}");
    }
    server.cli(&["projects", "pause", "platform"]);

    server.http().get("/auth/v1/health").expect_status(200);
    let list = server.cli_json(&["projects", "list"]);
    assert_eq!(list.as_array().map(Vec::len), Some(2), "{list}");
    for bad in ["", "  ", "line\nbreak"] {
        server
            .cli(&["projects", "create", bad])
            .expect_code(1)
            .says(&["1 to 256 characters"]);
    }
    server
        .cli(&["projects", "list", "-o", "env"])
        .expect_code(2)
        .says(&["-o json"]);
    let given = [
        "projects",
        "create",
        "own",
        "--db-password",
        "it's \"my\" own: /?#",
    ];
    let own = server.cli_json(&given);
    assert_eq!(
        value(own["DB_URL"].as_str().expect("a URL"), "select 1"),
        "1"
    );
}

#[test]
fn a_branch_is_a_copy_with_data_that_lives_its_own_life() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    rows(
        server.db_url(),
        "create table items (id int); insert into items values (1), (2)",
    );

    let branch = server.cli_json(&["branches", "create", "try-it", "--git-branch", "feature"]);
    let url = branch["DB_URL"].as_str().expect("a URL");
    assert_eq!(value(url, "select count(*) from items"), "2");
    rows(url, "delete from items");
    assert_eq!(value(server.db_url(), "select count(*) from items"), "2");
    assert_ne!(branch["SECRET_KEY"], server.status["SECRET_KEY"]);
    let health = format!(
        "/p/{}/auth/v1/health",
        branch["PLINTH_REF"].as_str().expect("a ref")
    );
    server.http().get(&health).expect_status(200);

    server
        .cli(&["branches", "create", "try-it"])
        .expect_code(4)
        .says(&["try-it"]);
    let list = server.cli(&["branches", "list"]).expect_success().stdout;
    assert!(list.contains("main") && list.contains("try-it"), "{list}");
    server
        .cli(&["branches", "delete", "try-it"])
        .expect_code(2)
        .says(&["--yes"]);
    server
        .cli(&["branches", "delete", "try-it", "--yes"])
        .expect_success();
    server
        .cli(&["branches", "delete", "try-it", "--yes"])
        .expect_code(1)
        .says(&["no branch"]);
    responses(&server.http(), &health, 404);
    assert_eq!(
        server
            .cli_json(&["branches", "list"])
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

fn status_of(server: &Instance<'_>, reference: &str) -> String {
    let list = server.cli_json(&["projects", "list"]);
    let found = list
        .as_array()
        .into_iter()
        .flatten()
        .find(|row| row["ref"] == reference);
    found.expect("it is listed")["status"]
        .as_str()
        .expect("a status")
        .to_owned()
}

/// Changes reach the edge within two seconds.
fn responses(http: &Http, path: &str, status: u16) -> crate::support::Response {
    eventually(
        Duration::from_secs(2),
        &format!("{path} responses {status}"),
        || Some(http.get(path)).filter(|response| response.status == status),
    )
}

#[test]
fn a_paused_default_project_does_not_keep_the_server_from_starting() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    server
        .cli(&["projects", "pause", "default"])
        .expect_success();
    assert_eq!(server.stop().code(), Some(0));

    let server = Instance::start(&folder, &[]);

    assert_eq!(
        server.http().get("/auth/v1/health").code(),
        "project_paused"
    );
    server.cli(&["doctor"]).expect_success();
    server
        .cli(&["projects", "resume", "default"])
        .expect_success();
    server.http().get("/auth/v1/health").expect_status(200);
}

#[test]
fn a_change_goes_on_when_its_client_goes_away() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = server.cli_json(&["tokens", "create", "hasty"]);
    let token = token["token"].as_str().expect("a token");
    let authority = server.api_url().trim_start_matches("http://");

    // On a busy machine a short wait ends before the server has read the request, and nothing begins.
    for (number, wait) in [30, 50, 70, 90, 110, 130, 1000].into_iter().enumerate() {
        let body = format!("{{\"name\":\"hasty {number}\"}}");
        let request = format!(
            "POST /v1/projects HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut hasty = std::net::TcpStream::connect(authority).expect("a connection");
        std::io::Write::write_all(&mut hasty, request.as_bytes()).expect("sent");
        std::thread::sleep(Duration::from_millis(wait));
    }

    eventually(Duration::from_secs(60), "all that begin come up", || {
        let projects = server.cli_json(&["projects", "list"]);
        let projects = projects.as_array().expect("a list");
        let mut hasty = projects.iter().filter(|project| {
            project["name"]
                .as_str()
                .is_some_and(|n| n.starts_with("hasty"))
        });
        let is_up = |project: &serde_json::Value| project["status"] == "ACTIVE_HEALTHY";
        (hasty.clone().next().is_some() && hasty.all(is_up)).then_some(())
    });
}
