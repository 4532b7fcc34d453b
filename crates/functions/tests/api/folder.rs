//! Functions of a folder, while they are being developed (functions contract §6, §11).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{TEST_TIMEOUT, TestFunctions, wait_for_text};

#[tokio::test]
async fn what_is_saved_is_served() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", "import { word } from '../_shared/word.ts'; Deno.serve(() => new Response(word + (Deno.env.get('MORE') ?? '')));"),
            ("other/index.ts", "let count = 0; Deno.serve(() => new Response(String(++count)));"),
            ("_shared/word.ts", "export const word = 'one';"),
        ],
        &[],
    )
    .await;
    functions.watch();
    wait_for_text(&functions, "hello", "one").await;
    wait_for_text(&functions, "other", "1").await;

    functions.write("_shared/word.ts", "export const word = 'another one';");
    wait_for_text(&functions, "hello", "another one").await;
    functions.write(".env", "MORE=' and more'");
    wait_for_text(&functions, "hello", "another one and more").await;

    // A change of one function leaves others alone.
    wait_for_text(&functions, "other", "2").await;
    functions.write("hello/index.ts", "Deno.serve(() => new Response('new'));");
    wait_for_text(&functions, "hello", "new").await;
    wait_for_text(&functions, "other", "3").await;

    functions.write("late/index.ts", "Deno.serve(() => new Response('late'));");
    wait_for_text(&functions, "late", "late").await;
    std::fs::remove_dir_all(functions.functions_folder().join("late")).unwrap();
    let gone = r#"{"code":"NOT_FOUND","message":"Requested function was not found"}"#;
    wait_for_text(&functions, "late", gone).await;
}

/// What it imports is on a server that takes connections and never responds.
#[tokio::test]
async fn a_function_that_waits_for_its_imports_delays_no_other() {
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = silent.local_addr().unwrap();
    let functions = TestFunctions::with(
        &[
            ("a/index.ts", "Deno.serve(() => new Response('first'));"),
            ("hello/index.ts", "Deno.serve(() => new Response('one'));"),
        ],
        &[("plinth.functions.reachable_networks", "127.0.0.1")],
    )
    .await;
    functions.watch();
    wait_for_text(&functions, "a", "first").await;
    wait_for_text(&functions, "hello", "one").await;

    let import =
        format!("import 'http://{address}/a.ts'; Deno.serve(() => new Response('never'));");
    functions.write("a/index.ts", &import);
    // The module was requested, and the server never responds.
    let kept = tokio::task::spawn_blocking(move || silent.accept().map(|asked| (asked, silent)));
    let _kept = kept.await.unwrap().unwrap();
    functions.write("hello/index.ts", "Deno.serve(() => new Response('two'));");
    wait_for_text(&functions, "hello", "two").await;
    assert_eq!(functions.fetch("a").await, (200, "first".to_owned()));

    functions.write("a/index.ts", "Deno.serve(() => new Response('second'));");
    wait_for_text(&functions, "a", "second").await;
}

#[tokio::test]
async fn a_mistake_shows_at_once_and_its_correction_too() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('good'));").await;
    functions.watch();
    wait_for_text(&functions, "hello", "good").await;

    functions.write("hello/index.ts", "Deno.serve(() => new Response('good')");
    let began = Instant::now();
    loop {
        let (status, text) = functions.fetch("hello").await;
        if status == 503 {
            assert!(
                text.contains("supabase/functions/hello/index.ts:1:"),
                "{text}"
            );
            break;
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "{status} {text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    functions.write(
        "hello/index.ts",
        "Deno.serve(() => new Response('better'));",
    );
    wait_for_text(&functions, "hello", "better").await;
}

/// A module of WebAssembly that exports `add`; all of its bytes happen to be text.
const ADD: &str = "\0asm\u{1}\0\0\0\u{1}\u{7}\u{1}\u{60}\u{2}\u{7f}\u{7f}\u{1}\u{7f}\u{3}\u{2}\u{1}\0\u{7}\u{7}\u{1}\u{3}add\0\0\n\u{9}\u{1}\u{7}\0\u{20}\0\u{20}\u{1}\u{6a}\u{b}";

#[tokio::test]
async fn imports_are_found_as_the_contract_orders_them() {
    let functions = TestFunctions::with(
        &[
            ("config/index.ts", "import { word } from 'shared/word.ts'; import data from './data.json' with { type: 'json' }; Deno.serve(() => new Response(word + data.x));"),
            ("config/deno.json", r#"{ /* mine */ "imports": { "shared/": "../_shared/" }, }"#),
            ("config/data.json", r#"{ "x": 1 }"#),
            ("map/index.ts", "import { word } from 'w'; Deno.serve(() => new Response('map ' + word));"),
            ("map/import_map.json", r#"{ "imports": { "w": "../_shared/word.ts" } }"#),
            ("old/index.ts", "import { word } from 'everywhere'; Deno.serve(() => new Response('old ' + word));"),
            ("import_map.json", r#"{ "imports": { "everywhere": "./_shared/word.ts" } }"#),
            ("typed/index.ts", "import 'jsr:@supabase/functions-js/edge-runtime.d.ts'; Deno.serve(() => new Response('typed'));"),
            ("elsewhere/main.js", "export default { fetch: () => new Response('elsewhere') };"),
            ("static/index.ts", "const text = await Deno.readTextFile(new URL('./page.html', import.meta.url)); Deno.serve(() => new Response(text));"),
            ("static/page.html", "<p>hello</p>"),
            ("wasm/index.ts", "import { add } from './add.wasm'; Deno.serve(() => new Response(String(add(3, 4))));"),
            ("wasm/add.wasm", ADD),
            ("page/index.tsx", "import { h } from './h.ts'; Deno.serve(() => new Response(<p class='x'>hello</p>));"),
            ("page/h.ts", "export const h = (name: string, given: { class: string }, text: string) => `<${name} class=${given.class}>${text}</${name}>`;"),
            ("page/deno.json", r#"{ "compilerOptions": { "jsx": "react", "jsxFactory": "h" } }"#),
            ("_shared/word.ts", "export const word: string = 'word';"),
        ],
        &[
            ("functions.named.entrypoint", "./functions/elsewhere/main.js"),
            ("functions.page.entrypoint", "./functions/page/index.tsx"),
        ],
    )
    .await;

    for (path, expected) in [
        ("config", "word1"),
        ("map", "map word"),
        ("old", "old word"),
        ("typed", "typed"),
        ("named", "elsewhere"),
        ("static", "<p>hello</p>"),
        ("wasm", "7"),
        ("page", "<p class=x>hello</p>"),
    ] {
        assert_eq!(
            functions.fetch(path).await,
            (200, expected.to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn packages_of_npm_are_fetched_once_and_then_need_no_network() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", "import { createClient } from 'jsr:@supabase/supabase-js@2'; const client = createClient('http://a', 'b'); Deno.serve(() => new Response(typeof client.from));"),
            ("late/index.ts", "Deno.serve(async () => { try { await import('npm:is-' + 'odd@3.0.1'); return new Response('fetched'); } catch (e) { return new Response('rejected'); } });"),
        ],
        &[],
    )
    .await;

    assert_eq!(functions.fetch("hello").await, (200, "function".to_owned()));
    assert_eq!(functions.fetch("late").await, (200, "rejected".to_owned()));
}

#[tokio::test]
async fn what_the_settings_name_outside_of_the_folder_is_watched() {
    let map =
        |word: &str| format!(r#"{{ "imports": {{ "word": "./functions/_shared/{word}.ts" }} }}"#);
    let functions = TestFunctions::with(
        &[
            (
                "hello/index.ts",
                "import { word } from 'word'; Deno.serve(() => new Response(word));",
            ),
            ("_shared/one.ts", "export const word = 'one';"),
            ("_shared/second.ts", "export const word = 'second';"),
            ("../import_map.json", &map("one")),
        ],
        &[("functions.hello.import_map", "./import_map.json")],
    )
    .await;
    functions.watch();
    wait_for_text(&functions, "hello", "one").await;

    functions.write("../import_map.json", &map("second"));

    wait_for_text(&functions, "hello", "second").await;
}

#[tokio::test]
async fn files_and_checks_can_be_named_for_all_functions_at_once() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", "import { word } from 'word'; Deno.serve(() => new Response(word + Deno.env.get('MORE')));"),
            ("hello/deno.json", r#"{ "imports": { "word": "./none.ts" } }"#),
            (".env", "MORE=' of the usual file'"),
            ("../other.env", "MORE=' and more'"),
            ("../map/imports.json", r#"{ "imports": { "word": "./word.ts" } }"#),
            ("../map/word.ts", "export const word = 'one';"),
        ],
        &[
            ("functions.hello.verify_jwt", "true"),
            ("plinth.functions.verify_jwt", "false"),
            ("plinth.functions.env_file", "other.env"),
            ("plinth.functions.import_map", "map/imports.json"),
        ],
    )
    .await;
    functions.watch();

    let response = reqwest::get(functions.url("hello")).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), "one and more");
    functions.write("../other.env", "MORE=' and less'");
    wait_for_text(&functions, "hello", "one and less").await;
}

#[tokio::test]
async fn packages_read_their_own_files_and_look_for_others() {
    let code = r#"
        import fs from 'node:fs';
        import { createRequire } from 'node:module';
        import 'npm:uuid@11.1.0';
        const manifest = new URL('../../package.json', import.meta.resolve('npm:uuid@11.1.0'));
        const attempt = (work: () => unknown) => {
          try { return work(); } catch (error) { return (error as { code?: string }).code ?? String(error); }
        };
        Deno.serve(async () => Response.json({
          name: JSON.parse(await Deno.readTextFile(manifest)).name,
          node: JSON.parse(fs.readFileSync(manifest, 'utf8')).name,
          fetched: (await (await fetch(manifest)).json()).name,
          required: createRequire(manifest)('./package.json').name,
          exists: [fs.existsSync(manifest), fs.existsSync('/etc/passwd'), fs.existsSync('/nowhere')],
          missing: attempt(() => fs.readFileSync('/nowhere/at/all')),
          stat: attempt(() => fs.statSync('/nowhere', { throwIfNoEntry: false }) ?? null),
          written: attempt(() => fs.writeFileSync(manifest, '')) ?? 'written',
        }));"#;
    let functions = TestFunctions::of(code).await;

    let (status, seen) = functions.fetch("hello").await;

    let seen: Value = serde_json::from_str(&seen).unwrap_or_else(|_| panic!("{status}: {seen}"));
    for name in ["name", "node", "fetched", "required"] {
        assert_eq!(seen[name], "uuid", "{seen}");
    }
    assert_eq!(seen["exists"], json!([true, false, false]));
    assert_eq!(
        (&seen["missing"], &seen["stat"]),
        (&json!("ENOENT"), &Value::Null)
    );
    let written = seen["written"].as_str().unwrap_or_default();
    assert!(written.contains("write access"), "{seen}");
}

#[tokio::test]
async fn settings_that_change_while_a_function_starts_break_nothing() {
    let code = "import { validate } from 'npm:uuid@11.1.0'; Deno.serve(() => new Response(String(validate('x'))));";
    let names: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    let paths: Vec<String> = names
        .iter()
        .map(|name| format!("{name}/index.ts"))
        .collect();
    let files: Vec<_> = paths.iter().map(|path| (&**path, code)).collect();
    let functions = TestFunctions::with(&files, &[]).await;
    for (round, name) in (0..).zip(&names) {
        let changed = async {
            tokio::time::sleep(Duration::from_millis(30 * round)).await;
            functions.set(&[(&format!("functions.{name}.verify_jwt"), "false")]);
            functions.fetch(name).await
        };
        let responses = tokio::join!(functions.fetch(name), changed);
        let expected = (200, "false".to_owned());
        assert_eq!(responses, (expected.clone(), expected), "{name}");
    }
}

#[tokio::test]
async fn static_files_outside_of_the_functions_folder_can_be_read() {
    let functions = TestFunctions::of(
        "const read = (name: string) => Deno.readTextFile(new URL(name, import.meta.url));
         Deno.serve(async (req) => new Response(
           await read('../../pages/' + new URL(req.url).pathname.split('/')[2]).catch((e) => e.name)));",
    )
    .await;
    functions.write("../pages/page.html", "a page");
    functions.write("../pages/secret.txt", "a secret");
    assert_eq!(functions.fetch("hello/page.html").await.1, "NotFound");

    functions.set(&[(
        "config.toml",
        "[functions.hello]\nstatic_files = [\"./pages/*.html\"]",
    )]);

    wait_for_text(&functions, "hello/page.html", "a page").await;
    assert_eq!(functions.fetch("hello/secret.txt").await.1, "NotFound");
}

#[tokio::test]
async fn a_function_that_the_settings_name_and_the_folder_lacks_says_so() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(() => new Response('fine'));")],
        &[(
            "config.toml",
            "[functions.gone]\nverify_jwt = false\n[functions.moved]\nentrypoint = \"./functions/hello/main.ts\"",
        )],
    )
    .await;

    for (slug, path) in [
        ("gone", "supabase/functions/gone/index.ts"),
        ("moved", "supabase/functions/hello/main.ts"),
    ] {
        let (status, body) = functions.failure(slug).await;
        assert_eq!((status, &body["code"]), (503, &"BOOT_ERROR".into()));
        let message = body["message"].to_string();
        assert!(
            message.contains(&format!("{path} does not exist")),
            "{message}"
        );
    }
    assert_eq!(functions.failure("none").await.0, 404);
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));

    functions.watch();
    functions.write("gone/index.ts", "Deno.serve(() => new Response('here'));");
    wait_for_text(&functions, "gone", "here").await;
}
