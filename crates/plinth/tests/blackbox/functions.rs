//! Functions and secrets from the command line: written, deployed, taken back, fetched.

use std::{fs, time::Duration};

use serde_json::Value;

use crate::support::{Folder, Instance, plinth, run_to_end};

fn slugs(server: &Instance<'_>) -> Vec<(String, i64, bool)> {
    let functions = server.cli_json(&["functions", "list"]);
    let functions = functions.as_array().expect("a list").iter();
    let row = |function: &Value| {
        let slug = function["slug"].as_str().expect("a slug").to_owned();
        let version = function["version"].as_i64().expect("a version");
        (slug, version, function["verify_jwt"] == true)
    };
    functions.map(row).collect()
}

#[test]
fn a_new_function_is_written_deployed_taken_back_and_fetched() {
    let folder = Folder::with(&[("config.toml", "project_id = \"shop\"\n")]);
    let made = folder.cli(&["functions", "new", "hello"]).expect_success();
    assert_eq!(
        made.stdout,
        "supabase/functions/hello/index.ts\nsupabase/functions/hello/deno.json\n\
         supabase/config.toml\n"
    );
    let config = folder.read("supabase/config.toml");
    assert!(
        config.contains("\n[functions.hello]\nenabled = true\n"),
        "{config}"
    );
    folder
        .cli(&["functions", "new", "hook", "--auth", "none"])
        .expect_success();
    folder
        .cli(&["functions", "new", "hook"])
        .expect_code(4)
        .says(&["exists already"]);
    folder
        .cli(&["functions", "new", "../x"])
        .expect_code(2)
        .says(&["Invalid Function name"]);
    folder
        .cli(&["functions", "deploy"])
        .expect_code(3)
        .says(&["no server runs"]);
    let server = Instance::start(&folder, &[]);

    server
        .cli(&["functions", "list"])
        .expect_success()
        .says(&["Served from supabase/functions/: hello, hook"]);
    let deployed = server.cli(&["functions", "deploy"]).expect_success();
    deployed.says(&["keeps serving supabase/functions/"]);
    let url = format!("{}/functions/v1/hello", server.api_url());
    assert!(deployed.stdout.contains(&url), "{}", deployed.stdout);
    let expected = [("hello".to_owned(), 1, true), ("hook".to_owned(), 1, false)];
    assert_eq!(slugs(&server), expected);

    let index = "supabase/functions/hello/index.ts";
    let first = folder.read(index);
    folder.write(index, "Deno.serve(() => new Response('two'));\n");
    let again = server.cli_json(&["functions", "deploy", "hello", "--no-verify-jwt"]);
    assert_eq!(again[0]["version"], 2);
    assert_eq!(again[0]["verify_jwt"], false);
    let back = server.cli_json(&["functions", "rollback", "hello"]);
    assert_eq!(back["version"], 1);
    assert_eq!(back["verify_jwt"], true, "settings go back as well");
    server
        .cli(&["functions", "rollback", "hello"])
        .expect_code(4)
        .says(&["No version of hello before version 1"]);
    let versions = server.cli_json(&["functions", "versions", "hello"]);
    assert_eq!(versions.as_array().map(Vec::len), Some(2));
    assert_eq!(versions[1]["is_active"], true);

    server
        .cli(&["functions", "download", "hello"])
        .expect_code(2)
        .says(&["--yes"]);
    server
        .cli(&["functions", "download", "hello", "--yes"])
        .expect_success();
    assert_eq!(folder.read(index), first);
    server
        .cli(&["functions", "download", "none"])
        .expect_code(1)
        .says(&["There is no function none"]);

    folder.write(
        "supabase/config.toml",
        "[functions.hook]\nenabled = false\n",
    );
    server
        .cli(&["functions", "deploy", "hook"])
        .expect_code(2)
        .says(&["functions.hook.enabled"]);
    server
        .cli(&["functions", "deploy", "--prune", "--yes"])
        .expect_success();
    assert_eq!(slugs(&server).len(), 2, "what is switched off is not gone");
    fs::remove_dir_all(folder.path().join("supabase/functions/hook")).expect("removed");
    folder.write("supabase/config.toml", "project_id = \"shop\"\n");
    server
        .cli(&["functions", "deploy", "--prune", "--yes"])
        .expect_success()
        .says(&["Deleted hook"]);
    server
        .cli(&["functions", "delete", "hello"])
        .expect_code(2)
        .says(&["--yes"]);
    server
        .cli(&["functions", "delete", "hello", "--yes"])
        .expect_success();
    assert_eq!(slugs(&server), []);
    server
        .cli(&["functions", "delete", "hello", "--yes"])
        .expect_code(1);
    server.cli(&["functions", "logs", "hello"]).expect_success();
}

#[test]
fn what_a_function_imports_is_sent_along() {
    let folder = Folder::with(&[
        (
            "functions/hello/index.ts",
            "import { cors } from '../_shared/cors.ts';\nimport './gone.ts';\n",
        ),
        ("functions/_shared/cors.ts", "export const cors = {};\n"),
        ("functions/hello/.env", "SECRET=1\n"),
    ]);

    let shown = folder
        .cli(&["functions", "deploy", "--dry-run", "-o", "json"])
        .expect_success();

    shown.says(&["warning: hello: supabase/functions/hello/gone.ts cannot be read"]);
    let shown = shown.json();
    let paths: Vec<&str> = shown
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    let expected = [
        "supabase/functions/_shared/cors.ts",
        "supabase/functions/hello/index.ts",
    ];
    assert_eq!(paths, expected);
    folder
        .cli(&["functions", "deploy", "none"])
        .expect_code(1)
        .says(&["supabase/functions/none/index.ts"]);
    let empty = Folder::new();
    empty
        .cli(&["functions", "deploy"])
        .expect_code(2)
        .says(&["plinth functions new"]);
}

#[test]
fn secrets_come_from_arguments_files_and_pipes() {
    let folder = Folder::with(&[("functions/.env", "FILE=1\nSUPABASE_URL=x\n")]);
    let file = folder.path().join("supabase/functions/.env");
    let file = file.to_str().expect("text");
    let server = Instance::start(&folder, &[]);

    server
        .cli(&["secrets", "set", "ARGUMENT=a=b", "--env-file", file])
        .expect_success()
        .says(&["Set 2 secret(s)", "skipping: SUPABASE_URL"]);
    folder
        .cli_with_input(&["secrets", "set", "-"], "PIPED='quietly'\n")
        .expect_success();

    let listed = server.cli(&["secrets", "list"]).expect_success().stdout;
    for name in ["ARGUMENT", "FILE", "PIPED"] {
        assert!(listed.contains(name), "{listed}");
    }
    assert!(!listed.contains("quietly"), "{listed}");
    server
        .cli(&["secrets", "set", "SUPABASE_URL=x"])
        .expect_code(1)
        .says(&["SUPABASE_"]);
    server.cli(&["secrets", "set", "NONSENSE"]).expect_code(2);
    server.cli(&["secrets", "set"]).expect_code(2);
    server
        .cli(&["secrets", "unset", "ARGUMENT", "PIPED"])
        .expect_success();
    let left = server.cli_json(&["secrets", "list"]);
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!(left[0]["name"], "FILE");
}

#[test]
fn another_machine_deploys_with_a_token() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let project = server.cli_json(&["projects", "create", "shop"]);
    let reference = project["PLINTH_REF"].as_str().expect("a ref");
    let create = ["tokens", "create", "ci", "--project", reference, "--scope"];
    let scopes = "edge_functions_write,edge_functions_secrets_write";
    let token = server.cli_json(&[&create[..], &[scopes]].concat());
    let elsewhere = Folder::with(&[(
        "functions/hello/index.ts",
        "Deno.serve(() => new Response());\n",
    )]);
    let remote = |args: &[&str]| {
        let mut command = plinth();
        command
            .current_dir(elsewhere.path())
            .args(["--api-url", server.api_url(), "--ref", reference])
            .args(args)
            .env(
                "PLINTH_ACCESS_TOKEN",
                token["token"].as_str().expect("a token"),
            );
        run_to_end(&mut command, None, Duration::from_secs(30))
    };

    let target = format!("({reference}) · {}", server.api_url());
    for change in [
        &["functions", "deploy"][..],
        &["secrets", "set", "A=1"],
        &["functions", "rollback", "hello"],
    ] {
        remote(change).expect_code(2).says(&[&target, "--yes"]);
    }
    remote(&["functions", "deploy", "--yes"]).expect_success();
    remote(&["secrets", "set", "A=1", "--yes"]).expect_success();
    remote(&["functions", "list"])
        .expect_code(5)
        .says(&["edge_functions_read"]);

    let listed = server.cli_json(&["functions", "list", "--ref", reference]);
    assert_eq!(listed[0]["slug"], "hello");
    assert_eq!(slugs(&server), [], "not in the default project");
    let profile = remote(&["cli-profile"]).expect_success().stdout;
    let line = format!("api_url: \"{}\"\n", server.api_url());
    assert!(profile.contains(&line), "{profile}");
}
