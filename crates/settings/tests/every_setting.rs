//! A file that uses every setting loads, and every one of its values arrives.

use plinth_settings::{Declaration, Loaded, Loader, Source, keys};

const FILE: &str = include_str!("every_setting.toml");

/// Names for the free part of a setting, as the file uses them.
fn instance(key: &Declaration) -> String {
    let member = match key.path().split_once(".*") {
        Some(("auth.external", _)) => "google",
        Some(("auth.hook", _)) => "send_sms",
        Some(("auth.email.template", _)) => "invite",
        Some(("auth.email.notification", _)) => "password_changed",
        Some(("storage.buckets", _)) => "images",
        Some(("functions", _)) => "hello-world",
        Some(("compute", _)) => "worker",
        _ => "",
    };
    key.path().replace('*', member)
}

#[test]
fn every_setting_can_be_written_in_the_file() {
    let loaded = Loader::new().config_text("every_setting.toml", FILE).load();

    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.warnings, []);
    for key in keys::all() {
        let path = instance(key);
        let setting = loaded.settings.find(&path).expect("declared");
        let file = Source::File("every_setting.toml".into());
        assert_eq!(setting.source, file, "{path}");
        assert_ne!(setting.value, key.default_value().as_ref(), "{path}");
    }
}

#[test]
fn every_setting_can_be_written_in_a_remote() {
    let mut text = String::from("[remotes.r]\nproject_id = \"abcdefghijklmnopqrst\"\n");
    let own = FILE.split("[remotes.").next().expect("the first part");
    let (_, sections) = own.split_once("[api]").expect("the first section");
    for line in std::iter::once("[api]").chain(sections.lines()) {
        text.push_str(&match line.strip_prefix('[') {
            Some(table) => format!("[remotes.r.{table}\n"),
            None => format!("{line}\n"),
        });
    }

    let loader = Loader::new().config_text("config.toml", text);
    let unselected = loader.load().unwrap_or_else(|error| panic!("{error}"));
    let selected = loader.remote("abcdefghijklmnopqrst").load().expect("valid");

    assert_eq!(unselected.warnings, []);
    for key in keys::all().filter(|key| key.path() != "project_id") {
        let path = instance(key);
        let source = |loaded: &Loaded| loaded.settings.find(&path).expect("declared").source;
        assert_eq!(source(&unselected), Source::Default, "{path}");
        let file = Source::File("config.toml".into());
        assert_eq!(source(&selected), file, "{path}");
    }
}

#[test]
fn every_setting_can_be_given_by_its_variable() {
    let settings = Loader::new()
        .config_text("config.toml", FILE)
        .load()
        .expect("valid")
        .settings;
    let mut variables = Vec::new();
    for key in keys::all() {
        let name = &key.environment_names()[0];
        let member = instance(key);
        let member = key.path().split_once(".*.").map_or("", |(map, _)| {
            member[map.len() + 1..]
                .split('.')
                .next()
                .unwrap_or_default()
        });
        let member = member.to_uppercase().replace('-', "_");
        let setting = settings.find(&instance(key)).expect("declared");
        let value = setting.value.expect("the file sets it");
        variables.push((
            name.replace("<NAME>", &member),
            untyped(value),
            instance(key),
        ));
    }

    for (name, text, path) in variables {
        let loaded = Loader::new()
            .config_text(
                "config.toml",
                "[auth]\nenabled = false\n[functions.hello-world]",
            )
            .environment([(name.clone(), text)])
            .command_line("plinth.storage.s3.bucket", "b")
            .command_line("plinth.storage.s3.access_key", "k")
            .command_line("plinth.storage.s3.secret_key", "s")
            .command_line("plinth.tls.cert_file", "c")
            .command_line("plinth.tls.key_file", "k")
            .command_line("api.tls.cert_path", "c")
            .command_line("api.tls.key_path", "k")
            .load()
            .unwrap_or_else(|error| panic!("{error}"));

        let source = loaded.settings.find(&path).expect("declared").source;
        assert!(
            matches!(source, Source::Environment(_) | Source::CommandLine),
            "{name} does not set {path}: {source}"
        );
    }
}

/// A value as it would be written in a variable.
fn untyped(value: &plinth_settings::Value) -> String {
    use plinth_settings::Value;
    match value {
        Value::Text(text) => text.clone(),
        Value::Url(url) => url.as_written().to_owned(),
        Value::Secret(secret) => secret.expose().to_owned(),
        Value::List(items) => items.join(","),
        Value::Table(entries) => serde_json::json!(entries).to_string(),
        Value::Records(records) => serde_json::json!(records).to_string(),
        Value::SecretTable(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(name, value)| format!("{name}={}", value.expose()))
                .collect();
            entries.join(",")
        }
        other => other.to_string(),
    }
}
