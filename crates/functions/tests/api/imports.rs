//! What functions import from elsewhere, and what they must not (functions contract §6, §14.5, §14.7).

use std::fs;

use plinth_testkit::Remote;
use serde_json::json;

use crate::support::TestFunctions;

/// A server of modules on this machine.
async fn module_server() -> Remote {
    let remote = Remote::start(200, "").await;
    let module = "export const word: string = 'from afar';";
    remote.set_response(200, "application/typescript", module);
    remote
}

/// Writes a function that imports a word, and notifies the service of it.
fn import_word(functions: &TestFunctions, slug: &str, from: &str, settings: &[(&str, &str)]) {
    let code = format!("import {{ word }} from '{from}';\nDeno.serve(() => new Response(word));");
    functions.write(&format!("{slug}/index.ts"), &code);
    let named = format!("functions.{slug}.verify_jwt");
    functions.set(&[&[(&*named, "true")], settings].concat());
}

#[tokio::test]
async fn remote_modules_are_fetched_once_and_then_need_no_network() {
    let functions = TestFunctions::with(&[], &[]).await;
    let elsewhere = module_server().await;
    let from = format!("{}/word.ts", elsewhere.url);
    let settings = [
        ("plinth.functions.reachable_networks", "127.0.0.1"),
        // A process per request, so that each starts anew.
        ("edge_runtime.policy", "oneshot"),
    ];
    import_word(&functions, "remote", &from, &settings);

    let fetched = (200, "from afar".to_owned());
    assert_eq!(functions.fetch("remote").await, fetched);
    let requests = elsewhere.received().len();
    drop(elsewhere);

    assert_eq!(functions.fetch("remote").await, fetched);
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn nothing_is_imported_from_private_addresses() {
    let functions = TestFunctions::with(&[], &[]).await;
    let elsewhere = module_server().await;
    let port = elsewhere.port();

    for (slug, host) in [
        ("number", "127.0.0.1"),
        ("name", "localhost"),
        ("mapped", "[::ffff:127.0.0.1]"),
        ("whole", "2130706433"),
    ] {
        let from = format!("http://{host}:{port}/word.ts");
        import_word(&functions, slug, &from, &[]);
        let (status, body) = functions.failure(slug).await;
        assert_eq!(
            (status, &body["code"]),
            (503, &json!("BOOT_ERROR")),
            "{host}"
        );
        let message = body["message"].as_str().unwrap();
        let place = format!("supabase/functions/{slug}/index.ts:1:");
        assert!(message.contains(&place), "{message}");
    }

    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn a_module_that_is_not_there_is_named_with_its_importer() {
    let functions = TestFunctions::with(&[], &[]).await;
    let from = "http://127.0.0.1:1/word.ts";
    let settings = [("plinth.functions.reachable_networks", "127.0.0.1")];
    import_word(&functions, "remote", from, &settings);

    let (status, body) = functions.failure("remote").await;

    assert_eq!((status, &body["code"]), (503, &json!("BOOT_ERROR")));
    let message = body["message"].as_str().unwrap();
    assert!(message.contains(from), "{message}");
    assert!(
        message.contains("supabase/functions/remote/index.ts:1:"),
        "{message}"
    );
}

#[tokio::test]
async fn files_of_another_project_cannot_be_imported() {
    let functions = TestFunctions::with(&[], &[]).await;
    let other = functions.home().join("otherproject/deployed/x/1/source");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("secret.json"), r#"{ "word": "secret" }"#).unwrap();
    fs::write(
        other.join("secret.ts"),
        "export default { word: 'secret' };",
    )
    .unwrap();
    let other = other.canonicalize().unwrap();
    let other = other.display();

    let ways = [
        (
            "json",
            format!("import s from 'file://{other}/secret.json' with {{ type: 'json' }};"),
        ),
        (
            "module",
            format!("import s from 'file://{other}/secret.ts';"),
        ),
        (
            "dynamic",
            format!("const s = (await import('file://{other}/secret.ts')).default;"),
        ),
        (
            "computed",
            format!("const s = (await import('file://{other}/' + 'secret.ts')).default;"),
        ),
        (
            "relative",
            "import s from '../../../../../../../../otherproject/deployed/x/1/source/secret.ts';"
                .to_owned(),
        ),
    ];
    for (slug, way) in &ways {
        let code = format!("{way}\nDeno.serve(() => new Response(s.word));");
        let file = format!("{slug}/index.ts");
        functions.store.deploy(slug, &[(&file, &code)]);
    }

    for (slug, _) in ways {
        let (status, text) = functions.fetch(slug).await;
        assert!(
            status == 503 && text.contains("BOOT_ERROR"),
            "{slug}: {status} {text}"
        );
    }
}

#[tokio::test]
async fn no_registry_at_a_private_address_is_asked() {
    let functions = TestFunctions::with(&[], &[]).await;
    let elsewhere = module_server().await;
    let port = elsewhere.port();
    let code = "import 'npm:not-there@1';\nDeno.serve(() => new Response());";

    for (slug, host) in [("number", "127.0.0.1"), ("name", "localhost")] {
        let file = format!("{slug}/index.ts");
        functions.write(
            &format!("{slug}/.npmrc"),
            &format!("registry=http://{host}:{port}/\n"),
        );
        functions.write(&file, code);
        functions.set(&[(&*format!("functions.{slug}.verify_jwt"), "true")]);
        let (status, body) = functions.failure(slug).await;
        assert_eq!(status, 503);
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(".npmrc names"), "{message}");
    }
    assert!(elsewhere.received().is_empty());

    functions.set(&[
        ("config.toml", "[functions.number]\nenv = { OTHER = \"x\" }"),
        ("plinth.functions.reachable_networks", "127.0.0.1"),
    ]);
    functions.failure("number").await;
    assert!(!elsewhere.received().is_empty(), "it may be asked");
}
