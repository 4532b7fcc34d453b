//! Prewarmed processes (functions contract §14.4): a function cannot detect that it runs in one.

use serde_json::{Value, json};

use crate::support::{TestFunctions, TestOptions, until};

const SERVES: &str = "Deno.serve(() => new Response(String(Deno.pid)));";

async fn fetch_json(functions: &TestFunctions, path: &str) -> Value {
    let response = functions.get(path).send().await.expect("a response");
    response.json().await.expect("JSON")
}

#[tokio::test]
async fn a_function_without_a_worker_gets_a_process_that_waits() {
    let functions =
        TestFunctions::with(&[("one/index.ts", SERVES), ("two/index.ts", SERVES)], &[]).await;
    assert!(
        functions.processes().is_empty(),
        "none before the first call"
    );
    functions.fetch("one").await;
    let prewarmed = functions.prewarmed_pid().await;

    let response = functions.get("two").send().await.unwrap();

    let execution = response.headers()["x-deno-execution-id"].clone();
    assert_eq!(response.text().await.unwrap(), prewarmed.to_string());
    assert_ne!(
        functions.prewarmed_pid().await,
        prewarmed,
        "another one waits"
    );
    let boots = functions
        .records_with(|record| {
            let fields = &record.fields;
            fields.get("event_type") == Some(&json!("Boot"))
                && fields["function"] == "two"
                && fields["boot_time"].is_u64()
                && fields["execution_id"] == json!(execution.to_str().unwrap())
        })
        .await;
    assert!(!boots.is_empty());
}

/// Everything that could give away how a process was started.
const LOOKS_AROUND: &str = r#"
    import { shared } from '../_shared/word.ts';
    import data from './data.json' with { type: 'json' };
    import process from 'node:process';
    const events: string[] = [];
    addEventListener('load', () => events.push('load'));
    const attempt = async (what: () => unknown) => {
      try { return await what(); } catch (error) { return `${(error as Error).name}: ${(error as Error).message}`; }
    };
    const hidden = ['SB_EXECUTION_ID', 'TMPDIR'];
    await new Promise((resolve) => setTimeout(resolve, 10));
    Deno.serve(async () => Response.json({
      shared, data, events,
      url: import.meta.url, dirname: import.meta.dirname, filename: import.meta.filename,
      main: Deno.mainModule, args: Deno.args, argv: process.argv, folders: [Deno.cwd(), process.cwd()],
      relative: await attempt(() => Deno.readTextFile('two/note.txt')),
      beside: await attempt(() => Deno.readTextFile(new URL('./note.txt', import.meta.url))),
      computed: await attempt(async () => (await import('../_shared/' + ['word', 'ts'].join('.'))).shared),
      outside: await attempt(() => Deno.readTextFile('/etc/passwd')),
      own: await attempt(() => [...Deno.readDirSync(Deno.env.get('TMPDIR')!)].length),
      permission: (await Deno.permissions.query({ name: 'read' })).state,
      request: (await Deno.permissions.request({ name: 'read' })).state,
      stack: (() => { try { throw new Error('here'); } catch (error) { return (error as Error).stack; } })(),
      names: Object.keys(Deno.env.toObject()).sort(),
      values: Object.entries(Deno.env.toObject()).filter(([name]) => !hidden.includes(name)).sort(),
      globals: Object.getOwnPropertyNames(globalThis).sort(),
      isStranger: Deno.uid() >= 61_184, storage: typeof localStorage,
    }));
"#;

async fn look_around(count: &str) -> (Value, String) {
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", SERVES),
            ("two/index.ts", LOOKS_AROUND),
            ("two/note.txt", "a note"),
            ("two/data.json", r#"{ "a": 1 }"#),
            ("_shared/word.ts", "export const shared: string = 'word';"),
        ],
        &[
            ("plinth.functions.prewarmed_processes", count),
            ("config.toml", "[edge_runtime.secrets]\nPEPPER = 'hot'"),
        ],
    )
    .await;
    functions.fetch("one").await;
    let prewarmed = match count {
        "0" => None,
        _ => Some(functions.prewarmed_pid().await),
    };
    let response = functions.get("two").send().await.expect("a response");
    let text = response.text().await.expect("text");
    if let Some(prewarmed) = prewarmed {
        assert!(functions.worker_pids().contains(&prewarmed), "it was used");
    }
    let folder = functions
        .functions_folder()
        .canonicalize()
        .expect("a folder");
    let text = text
        .replace(&*folder.to_string_lossy(), "<folder>")
        .replace(functions.project.reference().as_str(), "<project>")
        .replace(&format!(":{}", functions.address.port()), "");
    let mut seen: Value = serde_json::from_str(&text).expect(&text);
    // `bootstrap.js` is part of the stack, and in another folder for each test.
    let stack = seen["stack"].take();
    let stack = stack
        .as_str()
        .expect("a stack")
        .lines()
        .take(2)
        .collect::<Vec<_>>();
    (seen, stack.join("\n"))
}

#[tokio::test]
async fn a_function_cannot_detect_whether_its_process_was_prewarmed() {
    let usual = look_around("0").await;

    let assigned = look_around("1").await;

    assert_eq!(assigned, usual);
    let (seen, stack) = usual;
    assert_eq!(seen["url"], "file://<folder>/two/index.ts");
    assert_eq!(seen["folders"], json!(["<folder>", "<folder>"]));
    assert_eq!(
        (&seen["relative"], &seen["beside"], &seen["computed"]),
        (&json!("a note"), &json!("a note"), &json!("word"))
    );
    assert_eq!(seen["events"], json!(["load"]));
    assert!(stack.contains("file://<folder>/two/index.ts:"), "{stack}");
}

/// Calls until the prewarmed process responds: a boot with another profile changes the next one.
async fn call_in_prewarmed(functions: &TestFunctions, path: &str, expected: &str) {
    let mut responses = Vec::new();
    for _ in 0..5 {
        let prewarmed = functions.prewarmed_pid().await;
        let (status, text) = functions.fetch(path).await;
        assert!(status == 200 && text.starts_with(expected), "{text}");
        if text == format!("{expected} {prewarmed}") {
            return;
        }
        responses.push((prewarmed, text));
    }
    panic!("never in the process that waited: {responses:?}");
}

#[tokio::test]
async fn all_ways_to_serve_work_in_a_process_that_waited() {
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", SERVES),
            (
                "exported/index.ts",
                "export default { fetch: (req: Request) => new Response(`${new URL(req.url).pathname} ${Deno.pid}`) };",
            ),
            (
                "node/index.ts",
                "import { createServer } from 'node:http'; createServer((req, res) => res.end(`${req.url} ${Deno.pid}`)).listen(3000);",
            ),
            (
                "view/index.tsx",
                "import { h } from 'tags'; Deno.serve(() => new Response(`${<b>bold</b>} ${Deno.pid}`)); void h;",
            ),
            (
                "view/deno.json",
                r#"{ "imports": { "tags": "./tags.ts" }, "compilerOptions": { "jsx": "react", "jsxFactory": "h" } }"#,
            ),
            (
                "view/tags.ts",
                "export const h = (tag: string, _: unknown, ...inside: string[]) => `<${tag}>${inside.join('')}</${tag}>`;",
            ),
        ],
        &[
            ("edge_runtime.policy", "oneshot"),
            ("functions.view.entrypoint", "functions/view/index.tsx"),
        ],
    )
    .await;
    functions.fetch("one").await;

    call_in_prewarmed(&functions, "exported/a", "/exported/a").await;
    call_in_prewarmed(&functions, "node/a", "/node/a").await;
    call_in_prewarmed(&functions, "view", "<b>bold</b>").await;
}

#[tokio::test]
async fn what_needs_a_process_of_its_own_gets_one_without_an_error() {
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", SERVES),
            (
                "main/index.ts",
                &format!("if (import.meta.main) {{ {SERVES} }}"),
            ),
            (
                "hidden/index.ts",
                &format!("const {{ main }} = import.meta; if (main) {{ {SERVES} }}"),
            ),
            (
                "package/index.ts",
                "import { pid } from '#pid'; Deno.serve(() => new Response(String(pid)));",
            ),
            (
                "package/package.json",
                r##"{ "name": "package", "imports": { "#pid": "./pid.ts" } }"##,
            ),
            ("package/pid.ts", "export const pid = Deno.pid;"),
        ],
        &[("edge_runtime.policy", "oneshot")],
    )
    .await;
    functions.fetch("one").await;

    for path in ["main", "package", "hidden"] {
        for _ in 0..2 {
            let prewarmed = functions.prewarmed_pid().await;
            let (status, pid) = functions.fetch(path).await;
            assert_eq!(status, 200, "{path}: {pid}");
            assert_ne!(pid, prewarmed.to_string(), "{path}");
        }
    }

    let records = functions.records_with(|_| true).await;
    let failures = records
        .iter()
        .filter(|record| record.fields["event_type"] == "BootFailure");
    assert_eq!(failures.count(), 0);
}

#[tokio::test]
async fn what_does_not_start_says_so_once_and_as_usual() {
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", SERVES),
            ("thrower/index.ts", "throw new Error('at the top');"),
        ],
        &[],
    )
    .await;
    functions.fetch("one").await;
    functions.prewarmed_pid().await;

    let (status, body) = functions.failure("thrower").await;

    assert_eq!((status, &body["code"]), (503, &json!("BOOT_ERROR")));
    let message = body["message"].as_str().unwrap();
    assert!(
        message.ends_with("at supabase/functions/thrower/index.ts:1:7"),
        "{message}"
    );
    let is_failure = |record: &plinth_log::Record| {
        record.fields.get("event_type") == Some(&json!("BootFailure"))
    };
    let records = functions.records_with(is_failure).await;
    assert_eq!(
        records.iter().filter(|record| is_failure(record)).count(),
        1
    );
}

#[tokio::test]
async fn a_process_that_waited_reads_no_sources_but_its_functions_own() {
    let code = r#"
        const attempt = async (what: () => unknown) => {
          try { await what(); return 'done'; } catch (error) { return (error as Error).name; }
        };
        Deno.serve(async (req) => {
          const other = new URL(req.url).searchParams.get('other') ?? import.meta.url;
          return Response.json({
            pid: Deno.pid, url: import.meta.url,
            own: await attempt(() => Deno.readTextFile(new URL(import.meta.url))),
            read: await attempt(() => Deno.readTextFile(new URL(other))),
            list: await attempt(() => Deno.readDirSync(new URL('..', other))),
            imported: await attempt(() => import(other)),
            asked: (await Deno.permissions.request({ name: 'read', path: new URL(other) })).state,
            passwd: await attempt(() => Deno.readTextFile('/etc/passwd')),
          });
        });"#;
    let functions = TestFunctions::with(&[], &[]).await;
    functions.store.deploy("one", &[("one/index.ts", code)]);
    functions.store.deploy("two", &[("two/index.ts", code)]);
    let one = fetch_json(&functions, "one").await;
    let other = one["url"].as_str().unwrap();
    let prewarmed = functions.prewarmed_pid().await;

    let seen = fetch_json(&functions, &format!("two?other={other}")).await;

    assert_eq!(seen["pid"], prewarmed, "{seen}");
    assert_ne!(seen["url"], other);
    let other = url::Url::parse(other).unwrap().to_file_path().unwrap();
    assert!(other.is_file(), "{other:?} is there to be read");
    assert_eq!(seen["own"], "done");
    for name in ["read", "list", "imported", "passwd"] {
        let rejected = ["NotFound", "TypeError"].contains(&seen[name].as_str().unwrap());
        assert!(rejected, "{name}: {seen}");
    }
    assert_eq!(seen["asked"], "denied");
}

#[tokio::test]
async fn what_is_cached_stays_with_its_function() {
    let code = r#"
        const cache = await caches.open('words');
        const before = await caches.match('https://a.example/');
        await cache.put('https://a.example/', new Response('kept'));
        const found = await (await caches.match('https://a.example/', { cacheName: 'words' }))?.text();
        const seen = { pid: Deno.pid, before: !!before, found, names: await caches.keys(), has: await caches.has('words') };
        Deno.serve(() => Response.json(seen));"#;
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", code),
            ("two/index.ts", code),
            ("three/index.ts", code),
        ],
        &[],
    )
    .await;
    fetch_json(&functions, "one").await;

    for path in ["two", "three"] {
        let prewarmed = functions.prewarmed_pid().await;
        let seen = fetch_json(&functions, path).await;
        let expected = json!({ "pid": prewarmed, "before": false, "found": "kept", "names": ["words"], "has": true });
        assert_eq!(seen, expected, "{path}");
    }
}

#[tokio::test]
async fn limits_hold_in_a_process_that_waited() {
    let functions = TestFunctions::with(
        &[
            ("one/index.ts", SERVES),
            (
                "two/index.ts",
                r#"
                const kept: unknown[] = [];
                Deno.serve(async (req) => {
                  const path = new URL(req.url).pathname;
                  if (path.endsWith('/loop')) for (;;);
                  if (path.endsWith('/heap')) for (let i = 0; ; i++) { kept.push({ i, text: 'x'.repeat(10) + i }); if (i % 100000 === 0) await new Promise((r) => setTimeout(r)); }
                  return new Response(String(Deno.pid));
                });"#,
            ),
        ],
        &[
            ("plinth.functions.cpu", "1s"),
            ("plinth.functions.memory", "128MiB"),
        ],
    )
    .await;
    functions.fetch("one").await;

    for path in ["two/loop", "two/heap"] {
        let prewarmed = functions.prewarmed_pid().await;
        assert_eq!(functions.fetch("two").await, (200, prewarmed.to_string()));
        let (status, body) = functions.failure(path).await;
        let expected = (546, &json!("WORKER_RESOURCE_LIMIT"));
        assert_eq!((status, &body["code"]), expected, "{path}");
        until(async || !functions.worker_pids().contains(&prewarmed)).await;
    }
}

#[tokio::test]
async fn a_process_that_waits_knows_no_secret() {
    let functions = TestFunctions::with(
        &[("one/index.ts", SERVES)],
        &[("config.toml", "[edge_runtime.secrets]\nPEPPER = 'very hot'")],
    )
    .await;
    functions.fetch("one").await;

    let prewarmed = functions.prewarmed_pid().await;

    for file in ["environ", "cmdline"] {
        let text = std::fs::read(format!("/proc/{prewarmed}/{file}")).unwrap();
        let text = String::from_utf8_lossy(&text);
        for secret in ["very hot", "the service key", "sb_secret_"] {
            assert!(!text.contains(secret), "{file}: {text}");
        }
    }
}

#[tokio::test]
async fn a_process_that_waits_is_not_used_for_other_settings() {
    let functions =
        TestFunctions::with(&[("one/index.ts", SERVES), ("two/index.ts", SERVES)], &[]).await;
    functions.fetch("one").await;
    let prewarmed = functions.prewarmed_pid().await;

    functions.set(&[("plinth.functions.memory", "200MiB")]);
    let (_, pid) = functions.fetch("two").await;

    assert_ne!(pid, prewarmed.to_string());
    until(async || {
        let mut processes = functions.processes().into_iter();
        !processes.any(|process| process.pid == prewarmed)
    })
    .await;
    assert_ne!(functions.prewarmed_pid().await, prewarmed);

    functions.set(&[("plinth.functions.prewarmed_processes", "0")]);
    functions.fetch("two").await;
    until(async || {
        functions
            .processes()
            .iter()
            .all(|process| !process.is_prewarmed)
    })
    .await;
}

#[tokio::test]
async fn a_prewarmed_process_is_evicted_for_one_that_is_needed() {
    let functions = TestFunctions::start(TestOptions {
        files: &[
            ("one/index.ts", SERVES),
            ("two/index.ts", &format!("import.meta.main; {SERVES}")),
        ],
        settings: &[("plinth.functions.wait_timeout", "5s")],
        max_workers: Some(2),
        ..TestOptions::default()
    })
    .await;
    let (_, one) = functions.fetch("one").await;
    functions.prewarmed_pid().await;

    assert_eq!(functions.fetch("two").await.0, 200);

    assert_eq!(functions.processes().len(), 2);
    assert_eq!(functions.fetch("one").await, (200, one), "it stayed");
}
