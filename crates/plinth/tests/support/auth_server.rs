//! `plinth serve auth`, or GoTrue itself, with GoTrue's environment.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use plinth_testkit::SECRET;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{Http, eventually, free_port, kill, plinth, wait_for_exit};

const LIMIT: Duration = Duration::from_secs(60);

/// `plinth serve auth` with these variables and not those of the environment.
pub(crate) fn serve_auth(variables: &[(&str, &str)]) -> Command {
    let mut command = with_variables(plinth(), variables);
    command.args(["serve", "auth"]);
    command
}

/// `GOTRUE_BIN`, if it names a program.
pub(crate) fn gotrue_program() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("GOTRUE_BIN")?);
    program.is_file().then_some(program)
}

fn with_variables(mut command: Command, variables: &[(&str, &str)]) -> Command {
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
    command.envs(variables.iter().copied());
    command
}

/// What every start needs, and more.
pub(crate) fn auth_variables<'a>(
    url: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
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
pub(crate) struct AuthServer {
    child: Child,
    output: TempDir,
    pub(crate) http: Http,
}

impl AuthServer {
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        Self::spawn(serve_auth(variables))
    }

    /// GoTrue, which applies its migrations first.
    pub(crate) fn start_gotrue(program: &Path, variables: &[(&str, &str)]) -> Self {
        Self::spawn(with_variables(Command::new(program), variables))
    }

    fn spawn(mut command: Command) -> Self {
        let output = tempfile::tempdir().expect("a folder");
        let port = free_port().to_string();
        let create = |name| fs::File::create(output.path().join(name)).expect("a file");
        let child = command
            .env("PORT", &port)
            .current_dir(output.path())
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .spawn()
            .expect("the program starts");
        let auth = Self {
            child,
            output,
            http: Http::new(&format!("http://127.0.0.1:{port}"))
                .header("content-type", "application/json"),
        };
        eventually(LIMIT, "the service responds", || {
            auth.http.send("GET", "/health", "").ok()
        });
        auth
    }

    pub(crate) fn output(&self) -> String {
        ["stdout", "stderr"]
            .map(|name| fs::read_to_string(self.output.path().join(name)).unwrap_or_default())
            .concat()
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let response = self.http.post(path, &body.to_string());
        response.expect_status(200).json()
    }

    /// As the user of a token response.
    pub(crate) fn of(&self, tokens: &Value) -> Http {
        let token = tokens["access_token"].as_str().expect("an access token");
        self.http.clone().token(token)
    }

    pub(crate) fn stop(mut self) -> Option<i32> {
        kill(self.child.id(), Signal::TERM);
        wait_for_exit(&mut self.child, LIMIT).and_then(|status| status.code())
    }
}

impl Drop for AuthServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("output of the service:\n{}", self.output());
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
