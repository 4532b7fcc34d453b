//! All ways in which functions serve, and what they see of a request.

use plinth_log::Record;
use serde_json::{Value, json};

use crate::support::{PUBLISHABLE_KEY, SECRET_KEY, TestFunctions, read, wait_for_text};

#[tokio::test]
async fn every_way_to_serve_responds_on_the_workers_socket() {
    let functions = TestFunctions::with(
        &[
            ("plain/index.ts", "Deno.serve(() => new Response('plain'));"),
            ("options/index.ts", "Deno.serve({ port: 9000, onListen: () => console.log('here') }, () => new Response('options'));"),
            ("object/index.ts", "Deno.serve({ port: 9000, handler: async () => new Response('object') });"),
            ("default/index.ts", "export default { fetch: (_req: Request) => new Response('default') };"),
            ("node/index.ts", "import http from 'node:http'; http.createServer((req, res) => res.end('node ' + req.url)).listen(3000);"),
            ("address/index.ts", r#"
                import http from 'node:http';
                let seen = 'nothing';
                const server = http.createServer((_req, res) => res.end(seen));
                server.listen(3000, () => { seen = typeof (server.address() as any).port; });
            "#),
            ("old/index.ts", r#"
                const listener = Deno.listen({ port: 9000 });
                for await (const conn of listener) (async () => {
                  for await (const { request, respondWith } of (Deno as any).serveHttp(conn)) {
                    const ports = [listener.addr, conn.localAddr, conn.remoteAddr].map((address: any) => address.port);
                    const { protocol, host, pathname } = new URL(request.clone().url);
                    const isHost = host === request.headers.get('host');
                    respondWith(new Response(['old', protocol, isHost, pathname, ...ports].join(' ')));
                  }
                })();
            "#),
        ],
        &[],
    )
    .await;

    for (path, expected) in [
        ("plain", "plain"),
        ("options", "options"),
        ("object", "object"),
        ("default", "default"),
        ("node/a?b=1", "node /node/a?b=1"),
        ("address", "number"),
        ("old/a?b=1", "old http: true /old/a 9000 9000 0"),
    ] {
        assert_eq!(
            functions.fetch(path).await,
            (200, expected.to_owned()),
            "{path}"
        );
    }
}

/// Beside an app there is often a server for numbers or health.
#[tokio::test]
async fn servers_after_the_first_are_parked() {
    let first = "import http from 'node:http'; import net from 'node:net';
        const second = (then = () => {}) => {
          const server = http.createServer((_req, res) => res.end('second'));
          return server.listen(9301, '127.0.0.1', () => then(server));
        };";
    let node = "http.createServer((_req, res) => res.end(said)).listen(3000";
    let functions = TestFunctions::with(
        &[
            ("deno/index.ts", &format!("{first} let said = 'first'; Deno.serve(() => new Response(said)); second();")),
            ("node/index.ts", &format!("{first} let said = 'first'; {node}); second();")),
            ("inside/index.ts", &format!(
                "{first} let said = 'no'; {node}, () => second((server) => server.close((error) => {{ said = error ? 'not closed' : 'first'; }})));"
            )),
            ("later/index.ts", &format!(
                "{first} let said = 'no'; {node}); setTimeout(() => net.createServer().listen(9302, () => second((server) => {{
                    said = server.address().port === 9301 ? 'first' : 'wrong port';
                }})), 50);"
            )),
            ("derived/index.ts", &format!(
                "{first} class Mine extends http.Server {{ listen(...all) {{ return super.listen(...all); }} }}
                 class Plain extends net.Server {{ listen(...all) {{ return super.listen(...all); }} }}
                 new Plain(); new Mine((_req, res) => res.end('first')).listen(3000); new Plain().listen(9302); second();"
            )),
        ],
        &[("plinth.functions.reachable_networks", "127.0.0.1")],
    )
    .await;

    for slug in ["deno", "node", "inside", "later", "derived"] {
        wait_for_text(&functions, slug, "first").await;
        let alive = functions.worker_pids();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(functions.fetch(slug).await, (200, "first".to_owned()));
        assert_eq!(functions.worker_pids(), alive, "{slug} has not died");
    }
    for port in [9301, 9302] {
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    }
    let parked = "Only the first server of a function gets requests; this one gets none.";
    functions
        .records_with(|record| record.message == parked && record.fields["function"] == "later")
        .await;
}

#[tokio::test]
async fn a_function_sees_the_request_as_it_was_sent() {
    let functions = TestFunctions::of(
        r#"Deno.serve(async (req, info) => Response.json({
            url: req.url, cloned: req.clone().url, copied: new Request(req.clone()).url, is: req instanceof Request,
            method: req.method, body: await req.text(), headers: Object.fromEntries(req.headers), remote: info.remoteAddr,
        }));"#,
    )
    .await;

    let request = functions
        .post("hello/tasks//7/%C3%A4?x=1&y=%2F")
        .header("x-forwarded-host", "api.example:8443")
        .header("x-forwarded-proto", "https")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-custom", "kept")
        .header("sb-api-key", "forged")
        .body("the body");
    let seen: Value = request.send().await.unwrap().json().await.unwrap();

    let url = "https://api.example:8443/hello/tasks//7/%C3%A4?x=1&y=%2F";
    for name in ["url", "cloned", "copied"] {
        assert_eq!(seen[name], url, "{name}");
    }
    assert_eq!(
        (&seen["is"], &seen["method"], &seen["body"]),
        (&json!(true), &json!("POST"), &json!("the body"))
    );
    assert_eq!(seen["remote"]["hostname"], "203.0.113.9");
    let headers = seen["headers"].as_object().unwrap();
    assert_eq!(headers["host"], "api.example:8443");
    assert_eq!(headers["x-forwarded-host"], "api.example");
    assert_eq!(
        (&headers["x-custom"], &headers["apikey"]),
        (&json!("kept"), &json!(PUBLISHABLE_KEY))
    );
    assert!(!headers.contains_key("sb-api-key"));
}

#[tokio::test]
async fn a_functions_response_passes_unchanged() {
    let functions = TestFunctions::of(
        r#"Deno.serve((req) => {
            const path = new URL(req.url).pathname;
            if (path.endsWith('/redirect')) return new Response(null, { status: 302, headers: { location: '/x' } });
            if (path.endsWith('/same')) return new Response(null, { status: 304, headers: { etag: '"a"' } });
            if (path.endsWith('/nothing')) return new Response(null, { status: 204 });
            if (path.endsWith('/own')) return new Response('mine', { status: 503, headers: { 'access-control-expose-headers': 'x-a' } });
            const headers = new Headers({ 'content-type': 'text/html' });
            headers.append('set-cookie', 'a=1'); headers.append('set-cookie', 'b=2');
            return new Response('<p>', { headers });
        });"#,
    )
    .await;

    let page = functions.get("hello").send().await.unwrap();
    let cookies: Vec<_> = page.headers().get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
    assert_eq!(page.headers()["content-type"], "text/html");
    assert_eq!(page.headers()["x-served-by"], "supabase-edge-runtime");
    assert_eq!(page.headers()["x-sb-edge-region"], "local");
    assert!(!page.headers().contains_key("access-control-allow-origin"));
    let first = page.headers()["x-deno-execution-id"].clone();

    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let redirect = client
        .get(functions.url("hello/redirect"))
        .header("apikey", PUBLISHABLE_KEY)
        .send()
        .await
        .unwrap();
    assert_eq!(
        (
            redirect.status().as_u16(),
            redirect.headers()["location"].as_bytes()
        ),
        (302, &b"/x"[..])
    );
    assert_eq!(
        redirect.headers()["x-deno-execution-id"],
        first,
        "the same worker"
    );
    assert_eq!(functions.fetch("hello/nothing").await, (204, String::new()));
    let same = functions.get("hello/same").send().await.unwrap();
    assert_eq!(same.headers()["etag"], "\"a\"");
    assert_eq!(read(same).await, (304, String::new()));

    let own = functions.get("hello/own").send().await.unwrap();
    assert_eq!(own.headers()["sb-error-code"], "EDGE_FUNCTION_ERROR");
    assert_eq!(
        own.headers()["access-control-expose-headers"],
        "x-a, sb-error-code"
    );
    assert!(!own.headers().contains_key("x-relay-error"));
    assert_eq!(read(own).await, (503, "mine".to_owned()));
}

#[tokio::test]
async fn a_handler_that_throws_responds_500_and_the_worker_stays() {
    let functions = TestFunctions::of(
        r#"Deno.serve((req) => {
            const path = new URL(req.url).pathname;
            if (path.endsWith('/throw')) throw new Error('boom');
            if (path.endsWith('/async')) return Promise.reject(new Error('late boom'));
            if (path.endsWith('/odd')) return 'no response' as any;
            return new Response('fine');
        });"#,
    )
    .await;
    let id = |response: &reqwest::Response| response.headers()["x-deno-execution-id"].clone();
    let first = id(&functions.get("hello").send().await.unwrap());

    for path in ["hello/throw", "hello/async", "hello/odd"] {
        let response = functions.get(path).send().await.unwrap();
        assert_eq!(
            response.headers()["sb-error-code"],
            "EDGE_FUNCTION_ERROR",
            "{path}"
        );
        assert_eq!(id(&response), first);
        assert_eq!(
            read(response).await,
            (500, "Internal Server Error".to_owned()),
            "{path}"
        );
    }

    assert_eq!(id(&functions.get("hello").send().await.unwrap()), first);
}

#[tokio::test]
async fn a_function_finds_its_environment_and_nothing_of_ours() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", "import p from 'node:process'; const seen = Deno.env.toObject(); Deno.serve(() => Response.json([seen, p.env.FROM_FILE]));"),
            (".env", "FROM_FILE=\"two\\nlines\"\nSUPABASE_URL=forged\nOVER=file\n"),
        ],
        &[("config.toml", "[edge_runtime.secrets]\nFROM_CONFIG = \"1\"\nOVER = \"config\"\n\
            [functions.hello.env]\nONLY_HERE = \"yes\"\nSUPABASE_ANON_KEY = \"forged\"")],
    )
    .await;
    functions.store.set_secret("KEPT", "by an operator");

    let response = functions.get("hello").send().await.unwrap();
    let execution_id = response.headers()["x-deno-execution-id"].clone();
    let seen: Value = response.json().await.unwrap();

    let environment = seen[0].as_object().unwrap();
    let value = |name: &str| {
        environment
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    assert_eq!(
        value("SUPABASE_URL"),
        format!("http://127.80.76.73:{}", functions.address.port())
    );
    assert_eq!(value("SUPABASE_ANON_KEY"), "the anon key");
    assert_eq!(value("SUPABASE_SERVICE_ROLE_KEY"), "the service key");
    assert!(value("SUPABASE_DB_URL").starts_with("postgresql://"));
    assert_eq!(
        value("SUPABASE_PUBLISHABLE_KEYS"),
        format!("{{\"default\":\"{PUBLISHABLE_KEY}\"}}")
    );
    assert!(value("SUPABASE_JWKS").starts_with("{\"keys\":"));
    assert_eq!(value("SUPABASE_FUNCTION_SLUG"), "hello");
    assert_eq!(value("SB_REGION"), "local");
    assert_eq!(value("SB_JWT_ISSUER"), "https://api.example/auth/v1");
    assert_eq!(
        (
            value("SUPABASE_PUBLISHABLE_KEY"),
            value("SUPABASE_SECRET_KEY")
        ),
        (PUBLISHABLE_KEY, SECRET_KEY)
    );
    assert_eq!(value("SB_EXECUTION_ID"), execution_id);
    let reference = functions.project.reference();
    assert_eq!(value("DENO_DEPLOYMENT_ID"), format!("{reference}_hello_0"));
    assert_eq!(value("ONLY_HERE"), "yes");
    assert_eq!(
        (value("FROM_FILE"), &seen[1]),
        ("two\nlines", &json!("two\nlines"))
    );
    assert_eq!(
        (value("FROM_CONFIG"), value("OVER"), value("KEPT")),
        ("1", "file", "by an operator")
    );
    for hidden in [
        "HOME",
        "HOSTNAME",
        "PATH",
        "PWD",
        "DENO_DIR",
        "DENO_SERVE_ADDRESS",
        "DENO_AUTO_SERVE",
        "DENO_TLS_CA_STORE",
        "JSR_URL",
        "NPM_CONFIG_REGISTRY",
    ] {
        assert!(!environment.contains_key(hidden), "{hidden}");
    }
}

#[tokio::test]
async fn work_goes_on_after_the_response() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            let done = 0;
            Deno.serve(() => {
              EdgeRuntime.waitUntil(new Promise((resolve) => setTimeout(() => { done += 1; console.log('background done'); resolve(1); }, 300)));
              return new Response(String(done));
            });
            addEventListener('beforeunload', (event) => console.log('going for', (event as CustomEvent).detail.reason));
        "#)],
        &[],
    )
    .await;
    assert_eq!(functions.fetch("hello").await, (200, "0".to_owned()));

    functions.service.finish().await;

    let printed = |text: &'static str| move |record: &Record| record.message.contains(text);
    functions.records_with(printed("background done")).await;
    functions
        .records_with(printed("going for termination"))
        .await;
    assert!(functions.worker_pids().is_empty());
}

#[tokio::test]
async fn a_function_is_notified_of_its_start_and_its_end() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            for (const name of ['load', 'beforeunload', 'drain', 'unload']) {
              addEventListener(name, (event) => console.log('event', event.type, (event as CustomEvent).detail?.reason ?? '-'));
            }
            Deno.serve(() => new Response('fine'));
        "#)],
        &[("plinth.functions.worker_idle", "500ms")],
    )
    .await;
    assert_eq!(functions.fetch("hello").await.0, 200);

    let is_last = |record: &Record| record.message.starts_with("event unload");
    let records = functions.records_with(is_last).await;

    let mut events: Vec<_> = records
        .iter()
        .filter_map(|record| record.message.strip_prefix("event "))
        .collect();
    events.reverse();
    assert_eq!(
        events,
        [
            "load -",
            "beforeunload early_drop",
            "drain early_drop",
            "unload -"
        ]
    );
}

#[tokio::test]
async fn what_a_function_prints_is_recorded_with_its_request() {
    let functions = TestFunctions::of(
        r#"Deno.serve(async (req) => {
            await new Promise((resolve) => setTimeout(resolve, 1));
            console.warn('careful', { a: 1 });
            console.log('%s and %d', 'text', 2);
            EdgeRuntime.waitUntil(new Promise((resolve) => setTimeout(resolve, 200)).then(() => console.log('after')));
            return new Response('');
        });"#,
    )
    .await;

    functions
        .get("hello")
        .header("x-request-id", "request-7")
        .send()
        .await
        .unwrap();

    let records = functions
        .records_with(|record| record.message == "text and 2")
        .await;
    let careful = records
        .iter()
        .find(|record| record.message == "careful { a: 1 }")
        .unwrap();
    assert_eq!(careful.fields["level"], "Warning");
    assert_eq!(careful.fields["event_type"], "Log");
    assert_eq!(careful.fields["function"], "hello");
    assert_eq!(careful.request_id.as_deref(), Some("request-7"));
    let records_after = functions
        .records_with(|record| record.message == "after")
        .await;
    let after = records_after
        .iter()
        .find(|record| record.message == "after")
        .unwrap();
    assert_eq!(after.request_id.as_deref(), Some("request-7"));
    let records = functions
        .records_with(|record| record.fields["event_type"] == "Invocation")
        .await;
    let call = records
        .iter()
        .find(|record| record.fields["event_type"] == "Invocation")
        .unwrap();
    assert_eq!(
        (&call.fields["status"], &call.fields["method"]),
        (&json!(200), &json!("GET"))
    );
    assert_eq!(call.fields["execution_id"], careful.fields["execution_id"]);
    assert!(
        records
            .iter()
            .any(|record| record.fields["event_type"] == "Boot")
    );
}

#[tokio::test]
async fn everything_that_a_console_can_do_is_one_record() {
    let functions = TestFunctions::of(
        r#"Deno.serve(() => {
            console.debug('debugged');
            console.error('failed');
            console.trace('traced');
            console.group('grouped');
            console.info('in a group');
            console.groupEnd();
            console.table([{ a: 1 }]);
            console.assert(1 > 2, 'asserted');
            console.clear();
            console.log('last');
            return new Response('');
        });"#,
    )
    .await;

    functions.fetch("hello").await;

    let records = functions
        .records_with(|record| record.message == "last")
        .await;
    let printed = |record: &&Record| record.fields["event_type"] == "Log";
    let seen = |record: &Record| {
        let level = record.fields["level"].as_str().unwrap_or_default();
        let line = record.message.lines().next().unwrap_or_default();
        format!("{level}: {line}")
    };
    let mut seen: Vec<_> = records.iter().filter(printed).map(seen).collect();
    seen.reverse();
    assert_eq!(
        seen,
        [
            "Debug: debugged",
            "Error: failed",
            "Error: Trace: traced",
            "Info: grouped",
            "Info:   in a group",
            "Info: ┌───────┬───┐",
            "Error: Assertion failed: asserted",
            "Info: last",
        ]
    );
}

/// Requests that are under way at once, each on several ways from one callback to the next.
#[tokio::test]
async fn what_is_printed_finds_its_request_on_every_way() {
    let functions = TestFunctions::of(
        r#"import { AsyncLocalStorage } from 'node:async_hooks';
        import { readFile } from 'node:fs';
        const own = new AsyncLocalStorage();
        own.enterWith('top');
        console.log('outside');
        const ways = {
          top: (say) => say(own.getStore()),
          promise: (say) => Promise.resolve().then(say),
          timer: (say) => setTimeout(say, 5),
          microtask: (say) => queueMicrotask(say),
          tick: (say) => process.nextTick(say),
          file: (say) => readFile('no such file', () => say()),
          digest: async (say) => { await crypto.subtle.digest('SHA-256', new Uint8Array(3)); say(); },
          stream: (say) => new Response(new ReadableStream({ pull(pieces) { say(); pieces.close(); } })).text(),
          own: (say) => own.run('kept', async () => { await 1; say(own.getStore()); }),
          entered: async (say) => { own.enterWith('entered'); await 1; say(own.getStore()); },
        };
        Deno.serve(async (req) => {
          const id = req.headers.get('x-request-id');
          await Promise.all(Object.entries(ways).map(([name, way]) => new Promise((resolve) => {
            way((more) => { console.log(id, name, more ?? ''); resolve(); });
          })));
          return new Response('said');
        });"#,
    )
    .await;

    let names = ["first", "second", "third", "fourth"];
    let calls = names.map(|name| functions.get("hello").header("x-request-id", name).send());
    for response in futures_util::future::join_all(calls).await {
        assert_eq!(response.unwrap().text().await.unwrap(), "said");
    }

    for name in names {
        for way in [
            "top top",
            "promise ",
            "timer ",
            "microtask ",
            "tick ",
            "file ",
            "digest ",
            "stream ",
            "own kept",
            "entered entered",
        ] {
            let message = format!("{name} {way}");
            let records = functions
                .records_with(|record| record.message == message)
                .await;
            let printed = records.iter().find(|record| record.message == message);
            assert_eq!(printed.unwrap().request_id.as_deref(), Some(name), "{way}");
        }
    }

    let records = functions
        .records_with(|record| record.message == "outside")
        .await;
    let outside = records.iter().find(|record| record.message == "outside");
    assert_eq!(outside.unwrap().request_id, None);
}

#[tokio::test]
async fn programs_can_query_the_machine() {
    let functions = TestFunctions::of(
        "import { homedir, hostname, loadavg, networkInterfaces, tmpdir } from 'node:os';
         import os from 'node:os';
         Deno.serve(() => Response.json([
           hostname(), os.hostname(), Deno.hostname(), homedir(), os.homedir(), loadavg(),
           Object.keys(networkInterfaces()), typeof tmpdir(),
         ]));",
    )
    .await;

    let (status, text) = functions.fetch("hello").await;

    assert_eq!(status, 200, "{text}");
    let expected = json!([
        "localhost",
        "localhost",
        "localhost",
        "/home/deno",
        "/home/deno",
        [0, 0, 0],
        ["lo"],
        "string"
    ]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        expected
    );
}

#[tokio::test]
async fn a_function_may_have_a_response_of_its_own() {
    let functions = TestFunctions::of(
        "const Native = Response;
         globalThis.Response = class Mine extends Native {} as typeof Response;
         Deno.serve((req) => req.url.endsWith('/mine') ? new Response('mine') : new Native('native'));",
    )
    .await;

    assert_eq!(functions.fetch("hello").await, (200, "native".to_owned()));
    assert_eq!(
        functions.fetch("hello/mine").await,
        (200, "mine".to_owned())
    );
}

#[tokio::test]
async fn another_protocol_than_websockets_is_not_offered_to_a_function() {
    let functions = TestFunctions::of(
        "Deno.serve(async (req) => new Response([req.headers.get('upgrade'), await req.text()].join(' ')));",
    )
    .await;

    let request = functions.post("hello").body("abc");
    let request = request
        .header("connection", "Upgrade, HTTP2-Settings")
        .header("upgrade", "h2c")
        .header("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA");
    let response = read(request.send().await.unwrap()).await;

    assert_eq!(response, (200, " abc".to_owned()));
}
