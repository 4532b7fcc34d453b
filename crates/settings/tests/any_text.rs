//! No input may bring the loader down.

use plinth_settings::{Loader, check_stored, describe, keys};
use proptest::prelude::*;

/// Text that looks like a configuration often enough to reach the checks behind the parser.
fn config_like() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("auth"),
        Just("api"),
        Just("functions"),
        Just("remotes"),
        Just("external"),
        Just("google"),
        Just("enabled"),
        Just("port"),
        Just("inbucket"),
        Just("email"),
        Just("db"),
        Just("seed"),
        Just("secrets"),
        Just("\"a b\""),
        Just("project_id"),
    ];
    let value = prop_oneof![
        Just("true"),
        Just("1"),
        Just("-1"),
        Just("99999999999999999999"),
        Just("1.5"),
        Just("\"\""),
        Just("\"env(A)\""),
        Just("\"é\""),
        Just("[]"),
        Just("[1, [2]]"),
        Just("{}"),
        Just("{ a = 1, b = { c = \"env(A)\" } }"),
        Just("1979-05-27"),
        Just("nan"),
    ];
    let path = prop::collection::vec(name, 1..5).prop_map(|names| names.join("."));
    let line = prop_oneof![
        path.clone().prop_map(|path| format!("[{path}]")),
        path.clone().prop_map(|path| format!("[[{path}]]")),
        (path, value).prop_map(|(path, value)| format!("{path} = {value}")),
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

fn load(text: String) {
    let loader = Loader::new()
        .config_text("config.toml", text)
        .environment([("A".to_owned(), "x".to_owned())])
        .remote("google");
    match loader.load() {
        Ok(loaded) => {
            describe(&loaded.settings);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

proptest! {
    #[test]
    fn any_text_as_config_loads_without_panic(text in any::<String>()) {
        load(text);
    }

    #[test]
    fn anything_like_a_config_loads_without_panic(text in config_like()) {
        load(text);
    }

    #[test]
    fn any_variable_loads_without_panic(
        name in "(PLINTH|SUPABASE)_[A-Z_]{0,30}",
        text in any::<String>(),
    ) {
        let _ = Loader::new().environment([(name, text)]).load();
    }

    #[test]
    fn any_stored_name_loads_without_panic(path in any::<String>(), text in any::<String>()) {
        let stored = [(path.clone(), serde_json::Value::from(text.clone()))];
        let _ = check_stored(&stored.into_iter().collect());
        let _ = Loader::new().command_line(path, text).load();
    }
}

#[test]
fn very_deep_nesting_is_an_error_and_no_crash() {
    for text in [
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
    ] {
        assert!(
            Loader::new()
                .config_text("config.toml", text)
                .load()
                .is_err()
        );
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let text = "\u{feff}[api]\r\nport = 1\r\n";

    let loaded = Loader::new()
        .config_text("config.toml", text)
        .load()
        .expect("valid");

    assert_eq!(loaded.settings.get(keys::api::PORT), 1);
    assert!(loaded.warnings.is_empty());
}
