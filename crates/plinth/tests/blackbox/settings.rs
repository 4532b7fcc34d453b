//! config.toml, the environment and `--set`: all problems are reported at once.

use crate::support::{Folder, Instance};

#[test]
fn a_file_that_is_no_toml_is_rejected_with_its_line() {
    let folder = Folder::with(&[("config.toml", "project_id = \"x\"\n[api\nport = 1\n")]);

    let failed = folder.start_failing(&[]).expect_code(1);

    failed.says(&["config.toml", "line 2"]);
    assert!(!folder.data_dir().exists(), "nothing was made");
    folder.cli(&["settings"]).expect_code(1).says(&["line 2"]);
    folder.cli(&["doctor"]).expect_code(1);
}

#[test]
fn all_wrong_values_are_reported_at_once() {
    let config = "project_id = \"x\"\n[api]\nport = \"many\"\n[auth]\njwt_expiry = \"soon\"\n\
                  [plinth]\ntrash = \"a while\"\n";
    let folder = Folder::with(&[("config.toml", config)]);

    let failed = folder
        .start_failing(&["--set", "plinth.pool.size=none"])
        .expect_code(1);

    assert!(
        failed.failure().contains("4 things must be corrected"),
        "{}",
        failed.stderr
    );
    failed.says(&[
        "api.port",
        "auth.jwt_expiry",
        "plinth.trash",
        "plinth.pool.size",
    ]);
    failed.says(&["config.toml, line 3", "command line"]);
}

#[test]
fn an_unusable_option_is_a_usage_error() {
    let folder = Folder::new();
    folder
        .start_failing(&["--set", "nonsense"])
        .expect_code(2)
        .says(&["NAME=VALUE"]);
    folder
        .start_failing(&["--db-port", "70000"])
        .expect_code(2)
        .says(&["65535"]);
    folder
        .start_failing(&["--host", "everywhere"])
        .expect_code(2);
    folder.cli(&["no-such-command"]).expect_code(2);
    folder
        .cli(&["logs", "--since", "tomorrow"])
        .expect_code(2)
        .says(&["not a duration"]);
    folder.cli(&["serve", "storage"]).expect_code(2);
}

#[test]
fn settings_come_from_the_file_the_environment_and_the_command_line() {
    let config = "project_id = \"x\"\n[auth]\nsite_ulr = \"http://typo\"\n\
                  site_url = \"env(APP_SITE)\"\n[auth.email]\nmax_frequency = \"5s\"\n";
    let folder = Folder::with(&[("config.toml", config)]);

    let mut command = folder.command(&["settings", "auth.site_url", "-o", "json"]);
    command.env("APP_SITE", "https://from.env");
    let limit = std::time::Duration::from_secs(20);
    let shown = crate::support::run_to_end(&mut command, None, limit).expect_success();
    shown.says(&["site_ulr", "site_url"]);
    // Values are shown as config.toml spells them.
    assert_eq!(shown.json()[0]["value"], "\"https://from.env\"");

    let listed = folder
        .cli(&["settings", "auth.email"])
        .expect_success()
        .stdout;
    let line = listed
        .lines()
        .find(|line| line.contains("auth.email.max_frequency"));
    assert!(
        line.is_some_and(|line| line.contains("5s") && line.contains("config.toml")),
        "{listed}"
    );

    let server = Instance::start(&folder, &["--set", "plinth.limits.max_header=8KiB"]);
    assert!(
        server.stderr().contains("did you mean"),
        "{}",
        server.stderr()
    );
    let large = server.http().header("X-Large", &"x".repeat(16 << 10));
    large.get("/health").expect_status(431);
}
