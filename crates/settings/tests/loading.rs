//! How layers are stacked and what is said about mistakes.

use std::fs;
use std::time::Duration;

use plinth_settings::keys::{
    api, auth, auth_email, auth_external, auth_mfa, db, edge_runtime, functions, local_smtp,
    plinth, storage,
};
use plinth_settings::{
    Key, LoadError, Loaded, Loader, Place, Secret, Source, WrittenUrl, check_stored,
};
use serde_json::json;

fn file(text: &str) -> Loader {
    Loader::new().config_text("config.toml", text)
}

fn load(text: &str) -> Loaded {
    file(text).load().unwrap_or_else(|error| panic!("{error}"))
}

fn load_error(text: &str) -> LoadError {
    file(text).load().expect_err("the file is wrong")
}

fn variables<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn stored(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().expect("an object").clone()
}

fn sentences(problems: &[plinth_settings::Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_laptop_works_without_any_file() {
    let folder = tempfile::tempdir().expect("a folder");

    let loaded = Loader::new()
        .folder(folder.path())
        .load()
        .expect("defaults are valid");

    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.settings.get(api::PORT), 54321);
    assert_eq!(loaded.settings.source_of(api::PORT), Source::Default);
}

#[test]
fn a_stronger_layer_wins_and_is_named() {
    let all = file("[api]\nport = 3")
        .stored(stored(json!({ "api.port": 2 })))
        .environment(variables([
            ("SUPABASE_API_PORT", "4"),
            ("PLINTH_API_PORT", "5"),
        ]))
        .command_line("api.port", "6");
    let check = |loader: Loader, port: u16, source: Source| {
        let settings = loader.load().expect("valid").settings;
        assert_eq!(settings.get(api::PORT), port);
        assert_eq!(settings.source_of(api::PORT), source);
    };

    check(
        Loader::new().stored(stored(json!({ "api.port": 2 }))),
        2,
        Source::Stored,
    );
    check(
        file("[api]\nport = 3").stored(stored(json!({ "api.port": 2 }))),
        3,
        Source::File("config.toml".into()),
    );
    check(
        file("[api]\nport = 3").environment(variables([("SUPABASE_API_PORT", "4")])),
        4,
        Source::Environment("SUPABASE_API_PORT".into()),
    );
    check(
        file("").environment(variables([
            ("SUPABASE_API_PORT", "4"),
            ("PLINTH_API_PORT", "5"),
        ])),
        5,
        Source::Environment("PLINTH_API_PORT".into()),
    );
    check(all, 6, Source::CommandLine);
}

#[test]
fn an_empty_text_leaves_an_optional_setting_to_weaker_layers() {
    let loaded = file("[auth.external.azure]\nurl = \"\"\n[auth.mfa.phone]\ntemplate = \"\"")
        .stored(stored(
            json!({ "auth.external.azure.url": "https://login.example.com" }),
        ))
        .load()
        .expect("valid");

    let settings = loaded.settings;
    assert_eq!(
        settings
            .get(auth_external::URL.of("azure"))
            .map(WrittenUrl::as_written),
        Some("https://login.example.com")
    );
    assert_eq!(settings.get(auth_mfa::PHONE_TEMPLATE), "");
}

#[test]
fn all_mistakes_are_reported_at_once_with_their_lines() {
    let error = load_error(
        "[api]\nport = 70000\nmax_rows = \"many\"\n\n[auth]\njwt_secret = 12345\n\
         [auth.email]\nmax_frequency = \"soon\"\n[storage]\nfile_size_limit = 1.5\n\
         [functions.\"a b\"]\nenabled = true\n[db]\npooler = 3\n",
    );

    assert_eq!(
        sentences(&error.problems),
        [
            "config.toml, line 2: api.port = 70000 is not valid; \
             expected a port from 1 to 65535, or 0 for a free one.",
            "config.toml, line 3: api.max_rows = \"many\" is not valid; \
             expected an integer from 0.",
            "config.toml, line 6: auth.jwt_secret is not valid; expected a string (secret).",
            "config.toml, line 8: auth.email.max_frequency = \"soon\" is not valid; \
             expected a duration such as 1h30m, 10s or 500ms.",
            "config.toml, line 10: storage.file_size_limit = 1.5 is not valid; \
             expected a size such as 50MiB or a number of bytes.",
            "config.toml, line 11: functions.\"a b\" has a name that is not allowed; \
             expected letters, digits, hyphens and underscores.",
            "config.toml, line 14: db.pooler must be a table.",
        ]
    );
    assert!(
        error
            .to_string()
            .starts_with("The settings cannot be used, 7 things must be")
    );
}

#[test]
fn secrets_stay_out_of_messages() {
    let error = load_error(
        "[edge_runtime.secrets]\nA = \"hunter2\"\nB = 3\n[auth]\nanon_key = [\"hunter2\"]",
    );
    let broken = load_error("[auth]\njwt_secret = \"hunter2\nx = 1");

    let loader = file("[auth]\njwt_secret = \"hunter2\"")
        .environment(variables([("PLINTH_METRICS_TOKEN", "hunter2")]))
        .command_line("auth.anon_key", "hunter2");
    let loaded = loader.load().expect("valid");

    assert_eq!(error.problems.len(), 2);
    for text in [
        format!(
            "{loader:?} {loaded:?} {:?}",
            plinth_settings::describe(&loaded.settings)
        ),
        format!("{error} {error:?}"),
        format!("{broken} {broken:?}"),
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn unknown_keys_warn_and_suggest() {
    let loaded = load(
        "jwt_secret = \"x\"\n[auth]\njwt_expiri = 5\n[auth.external.gogle]\nenabled = true\n\
         [nonsense]\na = 1\n[plinth]\nhots = \"::1\"\n",
    );

    assert_eq!(
        sentences(&loaded.warnings),
        [
            "config.toml, line 1: unknown key jwt_secret is ignored; \
             did you mean auth.jwt_secret?",
            "config.toml, line 3: unknown key auth.jwt_expiri is ignored; \
             did you mean auth.jwt_expiry?",
            "config.toml, line 4: unknown key auth.external.gogle is ignored; \
             did you mean auth.external.google?",
            "config.toml, line 6: unknown key nonsense is ignored.",
            "config.toml, line 9: unknown key plinth.hots is ignored; \
             did you mean plinth.host?",
        ]
    );
}

#[test]
fn malformed_toml_is_one_error_with_line_and_column() {
    let error = load_error("[api]\nport = \n");

    let [problem] = error.problems.as_slice() else {
        panic!("{error}")
    };
    let Place::File { line, column, .. } = &problem.place else {
        panic!("{error}")
    };
    assert_eq!((*line, *column), (Some(2), Some(8)));
    assert!(
        problem.message.starts_with("this is not valid TOML"),
        "{problem}"
    );
}

#[test]
fn a_key_written_twice_is_an_error() {
    let error = load_error("[api]\nport = 1\nport = 2\n");

    assert!(error.to_string().contains("config.toml, line 3"), "{error}");
}

#[test]
fn deprecated_names_work_and_warn() {
    let loaded = load(
        "[inbucket]\nport = 1\nsmtp_port = 2\n\
         [auth.external.slack]\nenabled = true\n[auth.external.linkedin]\nenabled = false\n\
         [experimental]\norioledb_version = \"\"\n",
    );

    assert_eq!(loaded.settings.get(local_smtp::PORT), 1);
    assert_eq!(loaded.settings.get(local_smtp::SMTP_PORT), Some(2));
    assert_eq!(
        sentences(&loaded.warnings),
        [
            "config.toml, line 1: inbucket is deprecated; please use local_smtp.",
            "config.toml, line 4: auth.external.slack no longer exists and is ignored; \
             please use auth.external.slack_oidc.",
        ]
    );
}

#[test]
fn both_spellings_of_the_email_switch_work_silently() {
    for text in [
        "enabled = false",
        "enable_signup = false",
        "enabled = false\nenable_signup = true",
    ] {
        let loaded = load(&format!("[auth.email]\n{text}"));

        assert!(!loaded.settings.get(auth_email::ENABLE_SIGNUP), "{text}");
        assert!(loaded.warnings.is_empty());
    }
    let loaded = Loader::new()
        .environment(variables([("SUPABASE_AUTH_EMAIL_ENABLED", "false")]))
        .load()
        .expect("valid");
    assert!(!loaded.settings.get(auth_email::ENABLE_SIGNUP));
}

#[test]
fn references_to_the_environment_are_followed_by_kind() {
    let text = "[api]\nport = \"env(PORT)\"\nschemas = [\"public\", \"env(EXTRA)\"]\n\
                [auth]\nenable_signup = \"env(SIGNUP)\"\njwt_secret = \"env(JWT)\"\n\
                [edge_runtime.secrets]\nA = \"env(JWT)\"\nB = \"plain\"\n";
    let loaded = file(text)
        .environment(variables([
            ("PORT", "8000"),
            ("EXTRA", "api"),
            ("SIGNUP", "FALSE"),
            ("JWT", "s3cret"),
        ]))
        .load()
        .expect("valid");

    let settings = loaded.settings;
    assert!(loaded.warnings.is_empty());
    assert_eq!(settings.get(api::PORT), 8000);
    assert_eq!(settings.get(api::SCHEMAS), ["public", "api"]);
    assert!(!settings.get(auth::ENABLE_SIGNUP));
    assert_eq!(
        settings.get(auth::JWT_SECRET).map(|s| s.expose()),
        Some("s3cret")
    );
    assert_eq!(settings.get(edge_runtime::SECRETS)["A"].expose(), "s3cret");
    assert_eq!(settings.get(edge_runtime::SECRETS)["B"].expose(), "plain");
}

#[test]
fn a_reference_to_nothing_warns_only_where_it_matters() {
    let text = "[auth]\njwt_secret = \"env(MISSING)\"\nanon_key = \"env(ALSO_MISSING)\"\n\
                [auth.external.azure]\nenabled = true\nclient_id = \"a\"\nsecret = \"env(AZURE)\"\n\
                [auth.external.apple]\nenabled = false\nsecret = \"env(APPLE)\"\n\
                [studio]\nopenai_api_key = \"env(OPENAI_API_KEY)\"\n";
    let loaded = file(text)
        .command_line("auth.anon_key", "given")
        .load()
        .expect("valid");

    assert_eq!(loaded.settings.get(auth::JWT_SECRET), None);
    assert_eq!(
        sentences(&loaded.warnings),
        [
            "config.toml, line 2: auth.jwt_secret refers to the variable MISSING, \
             which is not set.",
            "config.toml, line 7: auth.external.azure.secret refers to the variable AZURE, \
             which is not set.",
        ]
    );
}

#[test]
fn stored_settings_cannot_read_the_environment() {
    let loaded = Loader::new()
        .stored(stored(
            json!({ "auth.site_url": "https://a.example", "auth.jwt_issuer": "env(HOME)" }),
        ))
        .environment(variables([("HOME", "/home/me")]))
        .load()
        .expect("valid");

    assert_eq!(loaded.settings.get(auth::JWT_ISSUER), Some("env(HOME)"));
}

#[test]
fn env_files_of_the_folder_stand_below_the_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    let supabase = folder.path().join("supabase");
    fs::create_dir(&supabase).expect("created");
    fs::write(
        supabase.join("config.toml"),
        "[auth]\njwt_secret = \"env(A)\"\nanon_key = \"env(B)\"\nsecret_key = \"env(C)\"\n",
    )
    .expect("written");
    fs::write(
        supabase.join(".env"),
        "A=env\nB=env\nC=env\nPLINTH_HOST=::1\n",
    )
    .expect("written");
    fs::write(supabase.join(".env.local"), "B='local'\nC=local\n").expect("written");

    let loader = Loader::new()
        .folder(folder.path())
        .environment(variables([("C", "process")]));
    let settings = loader.load().expect("valid").settings;

    let secret = |key: Key<Option<Secret>>| settings.get(key).map(Secret::expose);
    assert_eq!(secret(auth::JWT_SECRET), Some("env"));
    assert_eq!(secret(auth::ANON_KEY), Some("local"));
    assert_eq!(secret(auth::SECRET_KEY), Some("process"));
    assert_eq!(settings.get(plinth::HOST), "::1");

    fs::write(supabase.join(".env"), "A=1\nnonsense\n").expect("written");
    let error = loader.load().expect_err("the line is wrong");
    assert!(
        error
            .to_string()
            .contains(".env, line 2: this line is not of the form"),
        "{error}"
    );
}

#[test]
fn loading_again_sees_the_changed_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("supabase")).expect("created");
    let config = folder.path().join("supabase/config.toml");
    let loader = Loader::new().folder(folder.path());

    fs::write(&config, "[api]\nport = 1").expect("written");
    let before = loader.load().expect("valid").settings;
    fs::write(&config, "[api]\nport = 2").expect("written");
    let after = loader.load().expect("valid").settings;

    assert_eq!((before.get(api::PORT), after.get(api::PORT)), (1, 2));
    assert!(!before.is_same(&after));
}

#[test]
fn the_project_folder_is_found_upwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("a/b");
    fs::create_dir_all(&deep).expect("created");
    fs::create_dir(folder.path().join("supabase")).expect("created");
    fs::write(folder.path().join("supabase/config.toml"), "").expect("written");

    let found = plinth_settings::find_project_folder(&deep);

    assert_eq!(found.as_deref(), Some(folder.path()));
}

const REMOTES: &str = "[api]\nmax_rows = 10\nschemas = [\"a\"]\n\
     [remotes.staging]\nproject_id = \"abcdefghijklmnopqrst\"\n\
     [remotes.staging.api]\nmax_rows = 20\n\
     [remotes.live]\nproject_id = \"tsrqponmlkjihgfedcba\"\n\
     [remotes.live.db.seed]\nenabled = true\n";

#[test]
fn a_remote_applies_when_its_project_is_selected() {
    let base = load(REMOTES).settings;
    let staging = file(REMOTES)
        .remote("abcdefghijklmnopqrst")
        .load()
        .expect("valid")
        .settings;
    let live = file(REMOTES)
        .remote("tsrqponmlkjihgfedcba")
        .load()
        .expect("valid")
        .settings;

    assert_eq!(base.get(api::MAX_ROWS), 10);
    assert_eq!(staging.get(api::MAX_ROWS), 20);
    assert_eq!(staging.get(api::SCHEMAS), ["a"]);
    assert!(base.get(db::SEED_ENABLED));
    assert!(!staging.get(db::SEED_ENABLED));
    assert!(live.get(db::SEED_ENABLED));
}

#[test]
fn remotes_are_checked_even_when_not_selected() {
    let error = load_error(
        "[remotes.a]\nproject_id = \"abcdefghijklmnopqrst\"\n[remotes.a.api]\nport = \"x\"\n\
         [remotes.b]\nproject_id = \"abcdefghijklmnopqrst\"\n\
         [remotes.c]\nproject_id = \"short\"\n[remotes.c.inbucket]\nport = 1\n",
    );

    assert_eq!(
        sentences(&error.problems),
        [
            "config.toml, line 4: remotes.a.api.port = \"x\" is not valid; \
             expected a port from 1 to 65535, or 0 for a free one.",
            "config.toml, line 5: remotes.a and remotes.b both name \
             \"abcdefghijklmnopqrst\".",
            "config.toml, line 8: remotes.c.project_id must be a project's ref of 20 lower-case \
             letters, such as abcdefghijklmnopqrst.",
        ]
    );
    assert_eq!(
        sentences(&error.warnings),
        ["config.toml, line 9: remotes.c.inbucket is deprecated; \
          please use remotes.c.local_smtp."]
    );
}

#[test]
fn what_is_switched_on_needs_its_credentials() {
    let error = load_error(
        "[auth.external.google]\nenabled = true\n[auth.external.github]\nenabled = true\n\
         client_id = \"a\"\n[auth.email.smtp]\nenabled = true\nhost = \"h\"\nport = 25\n\
         [auth.sms.vonage]\nenabled = true\n[auth.sms.messagebird]\nenabled = true\n\
         originator = \"o\"\n[auth.hook.send_sms]\nenabled = true\n\
         [plinth.tls]\ncert_file = \"c\"\n",
    );

    assert_eq!(
        sentences(&error.problems),
        [
            "config.toml, line 2: auth.external.google.enabled = true also needs \
             auth.external.google.client_id.",
            "config.toml, line 4: auth.external.github.enabled = true also needs \
             auth.external.github.secret.",
            "config.toml, line 7: auth.email.smtp.enabled = true also needs \
             auth.email.smtp.admin_email.",
            "config.toml, line 13: auth.sms.messagebird.enabled = true also needs \
             auth.sms.messagebird.access_key.",
            "config.toml, line 16: auth.hook.send_sms.enabled = true also needs \
             auth.hook.send_sms.uri.",
            "config.toml, line 18: plinth.tls.cert_file = \"c\" also needs plinth.tls.key_file.",
        ]
    );
    load("[auth]\nenabled = false\n[auth.external.google]\nenabled = true\n");
}

#[test]
fn members_of_maps_are_listed_and_readable() {
    let settings = load(
        "[functions.empty]\n[functions.open]\nverify_jwt = false\nenv = { A = \"1\" }\n\
         [storage.buckets.\"my.files\"]\npublic = true\nfile_size_limit = 5000000\n\
         [storage.analytics.buckets.warehouse]\n",
    )
    .settings;

    assert_eq!(settings.members(functions::FUNCTIONS), ["empty", "open"]);
    assert!(settings.get(functions::VERIFY_JWT.of("empty")));
    assert!(!settings.get(functions::VERIFY_JWT.of("open")));
    assert_eq!(settings.get(functions::ENV.of("open"))["A"].expose(), "1");
    let name = settings.members(storage::BUCKETS)[0];
    let limit = settings.get(storage::BUCKETS_FILE_SIZE_LIMIT.of(name));
    assert_eq!(limit, 5_000_000);
    assert_eq!(settings.get(storage::ANALYTICS_BUCKETS), ["warehouse"]);
}

#[test]
fn variables_reach_members_of_maps() {
    let loaded = file("[functions.hello-world]\n")
        .environment(variables([
            ("PLINTH_FUNCTIONS_HELLO_WORLD_VERIFY_JWT", "false"),
            ("PLINTH_FUNCTIONS_OTHER_ENABLED", "false"),
            ("SUPABASE_AUTH_EXTERNAL_LINKEDIN_OIDC_CLIENT_ID", "id"),
            ("SUPABASE_AUTH_EXTERNAL_NOBODY_CLIENT_ID", "id"),
            ("SUPABASE_AUTH_EXTERNAL_URL", "https://auth.example"),
            ("PLINTH_EDGE_RUNTIME_SECRETS", "A=1,B=2"),
            ("PLINTH_LIMITS_DRAIN", ""),
        ]))
        .load()
        .expect("valid");

    let settings = loaded.settings;
    assert!(!settings.get(functions::VERIFY_JWT.of("hello-world")));
    assert_eq!(
        settings.members(functions::FUNCTIONS),
        ["hello-world", "other"]
    );
    assert_eq!(
        settings.members(auth_external::PROVIDERS),
        ["linkedin_oidc"]
    );
    assert_eq!(
        settings.get(auth_external::CLIENT_ID.of("linkedin_oidc")),
        Some("id")
    );
    assert_eq!(
        settings.get(auth::EXTERNAL_URL).map(WrittenUrl::as_written),
        Some("https://auth.example")
    );
    assert_eq!(settings.get(edge_runtime::SECRETS).len(), 2);
    assert_eq!(settings.get(plinth::LIMITS_DRAIN), Duration::from_secs(30));
}

#[test]
fn wrong_variables_and_options_are_errors() {
    let error = Loader::new()
        .environment(variables([
            ("PLINTH_API_PORT", "http"),
            ("PLINTH_API_PROT", "1"),
        ]))
        .command_line("api.prot", "1")
        .command_line("plinth.trusted_proxies", "10.0.0.0/8,proxy")
        .load()
        .expect_err("wrong");

    assert_eq!(
        sentences(&error.problems),
        [
            "command line: there is no setting api.prot; did you mean api.port?",
            "command line: plinth.trusted_proxies = \"10.0.0.0/8,proxy\" is not valid; \
             expected a list of IP addresses or networks such as 10.0.0.0/8.",
            "environment variable PLINTH_API_PORT: api.port = \"http\" is not valid; \
             expected a port from 1 to 65535, or 0 for a free one.",
        ]
    );
    assert_eq!(
        sentences(&error.warnings),
        [
            "environment variable PLINTH_API_PROT: no setting has this name; \
          did you mean PLINTH_API_PORT?"
        ]
    );
}

#[test]
fn stored_values_can_be_checked_before_they_are_stored() {
    assert!(check_stored(&stored(json!({ "auth.jwt_expiry": 60, "auth.sms": null }))).is_ok());
    assert!(check_stored(&stored(json!({ "auth": { "email": { "otp_length": 8 } } }))).is_ok());

    let error = check_stored(&stored(json!({ "auth.jwt_expiry": "60", "auth.jwt": 1 })));

    assert_eq!(
        sentences(&error.expect_err("wrong").problems),
        [
            "stored setting: auth.jwt_expiry = \"60\" is not valid; \
             expected an integer from 1.",
            "stored setting: there is no setting auth.jwt.",
        ]
    );
}

#[test]
fn a_config_that_plinth_does_not_read_is_mentioned() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("supabase")).expect("created");
    fs::write(folder.path().join("supabase/config.json"), "{}").expect("written");

    let loaded = Loader::new().folder(folder.path()).load().expect("valid");

    assert_eq!(loaded.warnings.len(), 1);
    assert!(
        loaded.warnings[0]
            .to_string()
            .ends_with("Plinth reads supabase/config.toml.")
    );
}

#[test]
fn the_account_pages_take_only_what_can_be_shown() {
    let error = load_error(
        "[plinth.account]\nlogo = \"logo.svg\"\naccent = \"#ffcc00\"\npath = \"account\"\n\
         profile_fields = [{ key = \"name\" }, { key = \"a\", label = \"A\", max = 0 }]\n",
    );

    let sentences = sentences(&error.problems);
    for expected in [
        "plinth.account.accent",
        "a contrast of at least 4.5:1",
        "expected a path such as /account",
    ] {
        assert!(
            sentences.iter().any(|sentence| sentence.contains(expected)),
            "{expected}: {sentences:?}"
        );
    }

    let error = load_error(
        "[plinth.account]\nlogo = \"logo.svg\"\n\
         profile_fields = [{ key = \"name\" }, { key = \"a\", label = \"A\", max = 0 }]\n",
    );

    assert_eq!(
        self::sentences(&error.problems),
        [
            "config.toml, line 2: plinth.account.logo: expected a URL, or a path that begins with \
             a slash.",
            "config.toml, line 3: plinth.account.profile_fields: every field needs a key and a \
             label.",
            "config.toml, line 3: plinth.account.profile_fields: max is an integer from 1 to \
             65535.",
        ]
    );
}
