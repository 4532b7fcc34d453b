//! What a function cannot reach (functions contract §8.4, §14.7).

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{TEST_TIMEOUT, TestFunctions, runtime_dirs, until};

/// Tries one thing after the other, and reports the outcome of each.
async fn attempt(functions: &TestFunctions, attempts: &str) -> Value {
    let code = format!(
        r#"
        import net from 'node:net';
        import os from 'node:os';
        import fs from 'node:fs';
        const late = () => new Promise((_, fail) => setTimeout(() => fail(new Error('late')), 500));
        const soon = (work: Promise<unknown>) => Promise.race([work, late()]);
        const attempts: Record<string, () => unknown> = {{ {attempts} }};
        Deno.serve(async () => {{
          const outcomes: Record<string, string> = {{}};
          for (const [name, attempt] of Object.entries(attempts)) {{
            try {{ await attempt(); outcomes[name] = 'done'; }} catch (error) {{ outcomes[name] = (error as Error).name + ': ' + (error as Error).message; }}
          }}
          return Response.json(outcomes);
        }});
        void net; void fs;"#
    );
    functions.write("attempts/index.ts", &code);
    functions.set(&[("functions.attempts.verify_jwt", "true")]);
    let response = functions.get("attempts").send().await;
    let response = response.expect("a response");
    response.json().await.expect("JSON")
}

#[tokio::test]
async fn files_processes_and_other_sockets_are_out_of_reach() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('other'));").await;
    functions.fetch("hello").await;
    let home = functions.home().canonicalize().unwrap();
    let socket = fs::read_dir(&home)
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"))
        .flat_map(|run| fs::read_dir(run.path()).unwrap().flatten())
        .map(|worker| worker.path().join("s.sock"))
        .find(|socket| socket.exists())
        .expect("the other worker's socket");

    let outcomes = attempt(
        &functions,
        &format!(
            r#"
            passwd: () => Deno.readTextFile('/etc/passwd'),
            environ: () => Deno.readTextFile('/proc/self/environ'),
            nodeFs: () => fs.readFileSync('/etc/passwd'),
            keys: () => Deno.readDir('{home}')[Symbol.asyncIterator]().next(),
            socket: () => Deno.connect({{ transport: 'unix', path: '{socket}' }}),
            nodeSocket: () => new Promise((done, fail) => net.connect('{socket}', () => done(1)).on('error', fail)),
            run: () => new Deno.Command('/usr/bin/id').output(),
            ffi: () => Deno.dlopen('libc.so.6', {{}}),
            user: () => os.userInfo(),
            write: () => Deno.writeTextFile(new URL('./x', import.meta.url), ''),
            killParent: () => Deno.kill(Deno.ppid, 'SIGTERM'),
            temporary: async () => {{ const file = await Deno.makeTempFile(); await Deno.writeTextFile(file, 'x'); }},
            own: () => Deno.readTextFile(new URL('../hello/index.ts', import.meta.url)),
            "#,
            home = home.display(),
            socket = socket.display(),
        ),
    )
    .await;

    for (name, outcome) in outcomes.as_object().unwrap() {
        let outcome = outcome.as_str().unwrap();
        match name.as_str() {
            "temporary" | "own" => assert_eq!(outcome, "done", "{name}"),
            // Packages that probe for files expect this.
            "passwd" | "environ" | "nodeFs" | "keys" | "socket" | "nodeSocket" => {
                assert!(outcome.contains("o such file"), "{name}: {outcome}");
            }
            _ => assert!(outcome.starts_with("NotCapable"), "{name}: {outcome}"),
        }
    }
    assert_eq!(outcomes.as_object().unwrap().len(), 13);
}

#[tokio::test]
async fn temporary_files_are_a_workers_own() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            import fs from 'node:fs/promises';
            import os from 'node:os';
            import path from 'node:path';
            Deno.serve(async () => {
              const before = (await fs.readdir(os.tmpdir())).length;
              const folder = await Deno.makeTempDir();
              const file = await Deno.makeTempFile();
              const own = path.join(os.tmpdir(), 'own.txt');
              await Deno.writeTextFile(path.join(folder, 'a.txt'), 'a');
              await Deno.writeTextFile(file, 'b');
              await fs.writeFile(own, 'c');
              const texts = await Promise.all([path.join(folder, 'a.txt'), file, own].map((name) => Deno.readTextFile(name)));
              const isInside = [folder, file].every((name) => path.dirname(name) === os.tmpdir());
              return Response.json({ before, texts, isInside, folder: os.tmpdir() });
            });
        "#)],
        &[("edge_runtime.policy", "oneshot")],
    )
    .await;

    let mut folders = Vec::new();
    for _ in 0..2 {
        let response = functions.get("hello").send().await.unwrap();
        let outcomes: Value = response.json().await.unwrap();
        assert_eq!(outcomes["before"], 0, "empty at first");
        assert_eq!(outcomes["texts"], serde_json::json!(["a", "b", "c"]));
        assert_eq!(outcomes["isInside"], true);
        folders.push(outcomes["folder"].as_str().unwrap().to_owned());
    }

    if has_own_tmp() {
        assert_eq!(folders, ["/tmp", "/tmp"]);
        return;
    }
    assert_ne!(folders[0], folders[1]);
    until(async || folders.iter().all(|folder| !Path::new(folder).exists())).await;
}

/// Whether workers can have a `/tmp` of their own here, with a runtime that lies elsewhere.
fn has_own_tmp() -> bool {
    let user = if rustix::process::geteuid().is_root() {
        "--mount"
    } else {
        "--map-root-user"
    };
    let mut unshare = Command::new("unshare");
    let mount = ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"];
    let can_mount = unshare.arg(user).args(mount).status();
    let packages = runtime_dirs()
        .into_iter()
        .map(|folder| folder.join("node_modules/@deno"));
    let runtime = packages
        .filter_map(|folder| folder.canonicalize().ok())
        .next();
    can_mount.is_ok_and(|status| status.success())
        && runtime.is_some_and(|folder| !folder.starts_with("/tmp"))
}

#[tokio::test]
async fn tmp_is_a_workers_own_and_bounded() {
    let secret = tempfile::Builder::new().tempfile_in("/tmp").unwrap();
    fs::write(secret.path(), "not for functions").unwrap();
    let name = secret.path().to_str().unwrap();
    let code = format!(
        r#"
        import fs from 'node:fs';
        const attempt = async (work: () => unknown) => {{
          try {{ return await work(); }} catch (error) {{ return (error as Error).message; }}
        }};
        Deno.serve(async () => Response.json({{
          written: await attempt(async () => {{
            await Deno.mkdir('{name}-er/deep', {{ recursive: true }});
            await Deno.writeTextFile('{name}-er/deep/a.txt', 'a');
            fs.writeFileSync('{name}.txt', 'b');
            return fs.readFileSync('{name}-er/deep/a.txt', 'utf8') + await Deno.readTextFile('{name}.txt');
          }}),
          foreign: await attempt(() => Deno.readTextFile('{name}')),
          big: await attempt(() => Deno.writeFile(`${{Deno.env.get('TMPDIR')}}/big`, new Uint8Array(2 << 20))),
          outside: await attempt(() => Deno.writeTextFile('/var/tmp/outside', 'x')),
        }}));"#
    );
    let functions = TestFunctions::with(
        &[("hello/index.ts", &code)],
        &[("plinth.functions.temporary_files", "1MiB")],
    )
    .await;

    let response = functions.get("hello").send().await.unwrap();
    let outcomes: Value = response.json().await.unwrap();

    let outcome = |name: &str| outcomes[name].as_str().unwrap_or_default();
    if has_own_tmp() {
        assert_eq!(outcome("written"), "ab");
        assert!(outcome("foreign").contains("No such file"), "{outcomes}");
        assert!(outcome("big").contains("No space left"), "{outcomes}");
        let written = secret.path().with_extension("txt");
        assert!(!written.exists(), "it is everybody's");
    } else {
        assert!(
            outcome("written").contains("Requires write access"),
            "{outcomes}"
        );
        assert!(outcome("foreign").contains("No such file"), "{outcomes}");
        assert!(outcome("big").contains("File too large"), "{outcomes}");
    }
    assert!(
        outcome("outside").contains("Requires write access"),
        "{outcomes}"
    );
}

#[tokio::test]
async fn nothing_is_kept_on_the_disk() {
    let functions = TestFunctions::of(
        r#"
        const keep = async () => {
          const cache = await caches.open('x');
          await cache.put('https://a.example/', new Response('kept'));
          return await (await cache.match('https://a.example/'))!.text();
        };
        const server = Deno.serve(async (req) => Response.json({
          beside: await Deno.writeTextFile(await req.text(), 'x').catch(String),
          kept: await keep(),
          address: server.addr,
        }));"#,
    )
    .await;
    functions.fetch("hello").await;
    let pid = functions.worker_pids()[0];
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    let written = line
        .split('\0')
        .find_map(|word| word.strip_prefix("--allow-write="));
    let socket = Path::new(written.unwrap().split(',').next().unwrap());

    let beside = socket.with_file_name("beside");
    let asked = functions.post("hello").body(beside.display().to_string());
    let outcomes: Value = asked.send().await.unwrap().json().await.unwrap();

    let outcome = |name: &str| outcomes[name].as_str().unwrap_or_default();
    assert!(
        outcome("beside").contains("Requires write access"),
        "{outcomes}"
    );
    assert_eq!(outcome("kept"), "kept");
    assert_eq!(outcomes["address"]["transport"], "tcp", "{outcomes}");
    if has_own_tmp() {
        let project = functions
            .home()
            .join(functions.project.reference().as_str());
        let folders = project.read_dir().unwrap().flatten();
        let mut storages = folders.map(|folder| folder.path().join("location_data"));
        let storage = storages.find(|storage| storage.is_dir()).unwrap();
        assert_eq!(storage.read_dir().unwrap().count(), 0);
    }
}

#[tokio::test]
async fn private_addresses_are_out_of_reach_but_for_plinths_own() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('other'));").await;
    let port = functions.address.port();
    // Stands for Plinth's internal address, which the test's service does not have.
    let own = tokio::net::TcpListener::bind(("127.80.76.73", port))
        .await
        .unwrap();
    tokio::spawn(async move { axum::serve(own, axum::Router::new()).await });

    let outcomes = attempt(
        &functions,
        &format!(
            r#"
            loopback: () => fetch('http://127.0.0.1:{port}/'),
            name: () => Deno.connect({{ hostname: 'localhost', port: {port} }}),
            number: () => fetch('http://2130706433:{port}/'),
            mapped: () => fetch('http://[::ffff:127.0.0.1]:{port}/'),
            zero: () => fetch('http://0.0.0.0:{port}/'),
            six: () => fetch('http://[::1]:{port}/'),
            metadata: () => fetch('http://169.254.169.254/latest/meta-data/'),
            neighbour: () => fetch('http://10.0.0.1/'),
            node: () => new Promise((done, fail) => net.connect({port}, '127.0.0.1', () => done(1)).on('error', fail)),
            own: () => fetch('http://127.80.76.73:{port}/'),
            "#
        ),
    )
    .await;

    for (name, outcome) in outcomes.as_object().unwrap() {
        let outcome = outcome.as_str().unwrap();
        match name.as_str() {
            "own" => assert_eq!(outcome, "done"),
            _ => assert!(outcome.starts_with("NotCapable"), "{name}: {outcome}"),
        }
    }
    functions.set(&[("plinth.functions.reachable_networks", "127.0.0.1")]);
    let began = std::time::Instant::now();
    let outcomes = loop {
        let response = functions.get("attempts").send().await.unwrap();
        let outcomes: Value = response.json().await.unwrap();
        // The worker with the old rules serves until the new one does.
        if outcomes["loopback"] == "done" {
            break outcomes;
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "{outcomes}");
    };
    assert_eq!(outcomes["node"], "done");
    assert!(
        outcomes["neighbour"]
            .as_str()
            .unwrap()
            .starts_with("NotCapable")
    );
}

#[tokio::test]
async fn nothing_is_reached_over_ipv6_unless_settings_name_its_networks() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('other'));").await;
    let attempts = r#"
        private: () => soon(Deno.connect({ hostname: 'fd12:3456::1', port: 80 })),
        mail: () => soon(Deno.connect({ hostname: '2001:db8::1', port: 25 })),
        fetched: () => soon(fetch('http://[fd12:3456::1]/').catch((error) => { throw error.cause ?? error; })),
        four: () => soon(Deno.connect({ hostname: '127.80.76.73', port: 1 })),
    "#;
    let is_denied = |outcomes: &Value, name: &str| {
        let outcomes = outcomes[name].as_str().unwrap();
        outcomes.contains("Address family not supported")
    };

    let outcomes = attempt(&functions, attempts).await;

    for name in ["private", "mail", "fetched"] {
        assert!(is_denied(&outcomes, name), "{name}: {outcomes}");
    }
    assert!(!is_denied(&outcomes, "four"), "{outcomes}");
    functions.set(&[("plinth.functions.reachable_networks", "2000::/3")]);
    let began = std::time::Instant::now();
    loop {
        let response = functions.get("attempts").send().await.unwrap();
        let outcomes: Value = response.json().await.unwrap();
        // The worker with the old rules serves until the new one does.
        if !is_denied(&outcomes, "mail") {
            break;
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "{outcomes}");
    }
}

#[tokio::test]
async fn a_root_plinth_runs_workers_as_another_user() {
    let functions = TestFunctions::of("Deno.serve(() => new Response(String(Deno.uid())));").await;

    let (_, uid) = functions.fetch("hello").await;

    let pid = functions.worker_pids()[0];
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    if rustix::process::geteuid().is_root() {
        assert!((61_184..65_520).contains(&uid.parse().unwrap()), "{uid}");
        assert_eq!(field("Gid"), [&*uid; 4]);
        assert!(field("Groups").is_empty(), "{status}");
    } else {
        assert_eq!(uid, rustix::process::geteuid().as_raw().to_string());
    }
    assert_eq!(field("Uid"), [&*uid; 4]);
    for rights in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(rights), ["0000000000000000"], "{rights}");
    }
    assert_eq!(field("NoNewPrivs"), ["1"]);
    let score = |pid: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
        text.trim().parse::<i32>().unwrap()
    };
    let expected = (score("self") + 500).min(1000);
    assert_eq!(score(&pid.to_string()), expected, "where memory runs out");
}

#[tokio::test]
async fn ports_of_mail_are_out_of_reach_unless_settings_allow_them() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('other'));").await;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let connect = |port: u16| {
        format!(
            r#"
            address{port}: () => Deno.connect({{ hostname: '127.0.0.1', port: {port} }}),
            name{port}: () => Deno.connect({{ hostname: 'localhost', port: {port} }}),
            mapped{port}: () => Deno.connect({{ hostname: '::ffff:127.0.0.1', port: {port} }}),
            tls{port}: () => Deno.connectTls({{ hostname: '127.0.0.1', port: {port} }}).then((connection) => connection.handshake()),
            node{port}: () => new Promise((done, fail) => net.connect({port}, '127.0.0.1', () => done(1)).on('error', fail)),
            "#
        )
    };
    let attempts = [25, 587, port].map(connect).concat();
    // A name may have both addresses.
    let reachable = ("plinth.functions.reachable_networks", "127.0.0.1,::1");
    let outcomes = async |settings: &[(&str, &str)], is_so: &dyn Fn(&Value) -> bool| {
        functions.set(settings);
        let began = std::time::Instant::now();
        loop {
            let response = functions.get("attempts").send().await.unwrap();
            let outcomes: Value = response.json().await.unwrap();
            // The worker with the old rules serves until the new one does.
            if is_so(&outcomes) {
                break outcomes;
            }
            assert!(began.elapsed() < TEST_TIMEOUT, "{outcomes}");
        }
    };
    let is_denied = |outcomes: &Value, way: &str, port: u16| {
        let outcomes = outcomes[format!("{way}{port}")].as_str().unwrap();
        outcomes.starts_with("NotCapable")
    };
    let ways = ["address", "name", "mapped", "tls", "node"];
    attempt(&functions, &attempts).await;

    let usual = outcomes(&[reachable], &|outcomes| {
        outcomes[format!("address{port}")] == "done"
    })
    .await;
    for way in ways {
        assert!(is_denied(&usual, way, 25), "{way}: {usual}");
        assert!(is_denied(&usual, way, 587), "{way}: {usual}");
        assert!(!is_denied(&usual, way, port), "{way}: {usual}");
    }

    let only = port.to_string();
    let settings = [reachable, ("plinth.functions.denied_ports", only.as_str())];
    let chosen = outcomes(&settings, &|outcomes| is_denied(outcomes, "address", port)).await;
    for way in ways {
        assert!(is_denied(&chosen, way, port), "{way}: {chosen}");
        assert!(!is_denied(&chosen, way, 25), "{way}: {chosen}");
        assert!(!is_denied(&chosen, way, 587), "{way}: {chosen}");
    }
}
