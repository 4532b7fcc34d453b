//! `plinth serve auth`: GoTrue's environment, any database, and nothing else needed.

use std::{
    fs,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    Ended, ExternalPostgres, Http, eventually, free_port, kill, plinth, rows, run_to_end, skip,
    wait_for_exit,
};

const LIMIT: Duration = Duration::from_secs(20);
const SECRET: &str = "a secret that is long enough for HMAC";

/// The program with these variables and none of whoever runs the tests.
fn serve_auth(variables: &[(&str, &str)]) -> Command {
    let mut command = plinth();
    let is_ours = |name: &str| {
        name.starts_with("GOTRUE_")
            || matches!(
                name,
                "DATABASE_URL" | "API_EXTERNAL_URL" | "PORT" | "API_HOST"
            )
    };
    for (name, _) in std::env::vars().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    command.args(["serve", "auth"]);
    for (name, value) in variables {
        command.env(name, value);
    }
    command
}

fn refused(variables: &[(&str, &str)]) -> Ended {
    run_to_end(&mut serve_auth(variables), None, LIMIT)
}

fn variables<'a>(url: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let required = [
        ("DATABASE_URL", url),
        ("GOTRUE_SITE_URL", "https://site.test"),
        ("API_EXTERNAL_URL", "https://api.test/auth/v1"),
        ("GOTRUE_JWT_SECRET", SECRET),
        ("GOTRUE_API_HOST", "127.0.0.1"),
    ];
    required.iter().chain(more).copied().collect()
}

/// A running service, until it is dropped.
struct Auth {
    child: Child,
    output: TempDir,
    http: Http,
}

impl Auth {
    fn start(variables: &[(&str, &str)]) -> Self {
        let output = tempfile::tempdir().expect("a folder");
        let port = free_port().to_string();
        let create = |name| fs::File::create(output.path().join(name)).expect("a file");
        let child = serve_auth(variables)
            .env("PORT", &port)
            .current_dir(output.path())
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .spawn()
            .expect("plinth starts");
        let auth = Self {
            child,
            output,
            http: Http::new(&format!("http://127.0.0.1:{port}"))
                .header("content-type", "application/json"),
        };
        eventually(LIMIT, "the service answers", || {
            auth.http.send("GET", "/health", "").ok()
        });
        auth
    }

    fn told(&self) -> String {
        fs::read_to_string(self.output.path().join("stdout")).unwrap_or_default()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.http.post(path, &body.to_string());
        answer.expect_status(200).json()
    }

    fn stop(mut self) -> Option<i32> {
        kill(self.child.id(), Signal::TERM);
        wait_for_exit(&mut self.child, LIMIT).and_then(|status| status.code())
    }
}

impl Drop for Auth {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let errors = fs::read_to_string(self.output.path().join("stderr"));
            eprintln!(
                "plinth said:\n{}\n{}",
                self.told(),
                errors.unwrap_or_default()
            );
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn people_sign_up_in_and_on_with_nothing_but_the_environment() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let auth = Auth::start(&variables(
        &url,
        &[
            ("GOTRUE_MAILER_AUTOCONFIRM", "true"),
            ("GOTRUE_JWT_EXP", "600"),
            ("GOTRUE_JWT_EXPP", "1"),
        ],
    ));
    assert!(auth.told().contains("did you mean GOTRUE_JWT_EXP?"));

    let body = json!({ "email": "Ann@Mail.test", "password": "correct horse" });
    let signed_up = auth.post("/signup", &body);
    assert_eq!(signed_up["expires_in"], 600);
    assert_eq!(signed_up["user"]["email"], "ann@mail.test");

    let signed_in = auth.post("/token?grant_type=password", &body);
    let refresh = json!({ "refresh_token": text(&signed_in, "refresh_token") });
    let refreshed = auth.post("/token?grant_type=refresh_token", &refresh);

    let token = text(&refreshed, "access_token");
    let user = auth.http.clone().token(token).get("/user");
    assert_eq!(
        user.expect_status(200).json()["id"],
        signed_up["user"]["id"]
    );
    let refused = auth.http.get("/user").expect_status(401);
    assert_eq!(refused.json()["error_code"], "no_authorization");
    let id = refused.header("x-request-id").expect("a request id");
    assert!(auth.told().contains(id), "the log names the request");

    assert_eq!(auth.stop(), Some(0));
}

#[test]
fn a_second_start_finds_its_own_schema() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let more = [("GOTRUE_MAILER_AUTOCONFIRM", "true")];
    let body = json!({ "email": "ann@mail.test", "password": "correct horse" });

    let first = Auth::start(&variables(&url, &more));
    assert!(first.told().contains("installed the schema auth"));
    first.post("/signup", &body);
    assert_eq!(first.stop(), Some(0));

    let second = Auth::start(&variables(&url, &more));
    assert!(!second.told().contains("installed"));
    second.post("/token?grant_type=password", &body);
}

#[test]
fn the_schema_of_another_program_stays_as_it_is() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    Auth::start(&variables(&url, &[])).stop();
    // Without our ledger it is as if GoTrue had made it.
    rows(&url, "drop schema plinth cascade");
    let more = [("GOTRUE_MAILER_AUTOCONFIRM", "true")];

    let auth = Auth::start(&variables(&url, &more));

    assert!(
        auth.told()
            .contains("made by another program and stays as it is")
    );
    let body = json!({ "email": "ann@mail.test", "password": "correct horse" });
    auth.post("/signup", &body);
    assert_eq!(auth.stop(), Some(0));
    let ledgers = rows(&url, "select to_regnamespace('plinth')::text as name");
    assert!(!format!("{ledgers:?}").contains("plinth"), "{ledgers:?}");

    rows(&url, "alter table auth.users drop column is_anonymous");
    let ended = refused(&variables(&url, &[])).expect_code(1);
    ended.says(&["users.is_anonymous", "another program"]);
}

#[test]
fn every_mistake_is_told_at_once() {
    let ended = refused(&[("GOTRUE_JWT_EXP", "soon"), ("PORT", "x")]).expect_code(2);

    ended.says(&[
        "GOTRUE_SITE_URL",
        "API_EXTERNAL_URL",
        "DATABASE_URL",
        "GOTRUE_JWT_SECRET",
        "GOTRUE_JWT_EXP",
        "PORT",
    ]);
}
