//! Functions that were deployed: versions, secrets, traffic while they change.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use plinth_log::Record;
use plinth_project::{FunctionRunner as _, FunctionSource};

use crate::support::{TEST_TIMEOUT, TestFunctions, TestOptions, until};

fn saying(word: &str) -> String {
    format!(
        "import {{ end }} from '../_shared/end.ts'; Deno.serve(async (req) => {{ await req.text(); return new Response('{word}' + end); }});"
    )
}

const END: (&str, &str) = ("_shared/end.ts", "export const end = '.';");

#[tokio::test]
async fn a_deployed_function_is_served_and_replaced_without_a_lost_request() {
    let functions = Arc::new(TestFunctions::with(&[], &[]).await);
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    assert_eq!(functions.fetch("hello").await, (200, "v1.".to_owned()));
    let (stop, count) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (functions, stop, count) = (functions.clone(), stop.clone(), count.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let response = functions
                        .post("hello")
                        .body("x")
                        .send()
                        .await
                        .expect("a response");
                    let status = response.status().as_u16();
                    let text = response.text().await.expect("a whole response");
                    assert_eq!((status, &text[..1], &text[2..]), (200, "v", "."), "{text}");
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();

    for word in ["v2", "v3"] {
        functions
            .store
            .deploy("hello", &[("hello/index.ts", &saying(word)), END]);
        functions.changed().await;
        let expected = format!("{word}.");
        until(async || functions.fetch("hello").await.1 == expected).await;
    }
    let home = functions
        .home()
        .join(functions.project.reference().as_str());
    let unpacked = || {
        let folders = std::fs::read_dir(home.join("deployed/hello")).unwrap();
        let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut versions: Vec<_> = names
            .map(|name| name.split('-').next_back().unwrap().to_owned())
            .collect();
        versions.sort();
        versions
    };
    until(async || unpacked() == ["2", "3"]).await;
    until(async || count.load(Ordering::SeqCst) >= 1000).await;
    stop.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.expect("no request failed");
    }
}

#[tokio::test]
async fn a_record_names_the_version_that_responded() {
    let functions = TestFunctions::with(&[], &[]).await;
    let saying = |word: &str, delay: u32| {
        format!(
            "await new Promise((r) => setTimeout(r, {delay})); Deno.serve(() => new Response('{word}'));"
        )
    };
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("one", 0))]);
    assert_eq!(functions.fetch("hello").await, (200, "one".to_owned()));

    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("two", 2000))]);
    functions.changed().await;
    assert_eq!(functions.fetch("hello/early").await.1, "one");
    until(async || functions.fetch("hello").await.1 == "two").await;
    assert_eq!(functions.fetch("hello/late").await.1, "two");

    for (path, version) in [("/hello/early", 1), ("/hello/late", 2)] {
        let is_call = |record: &Record| record.fields.get("path") == Some(&path.into());
        let records = functions.records_with(is_call).await;
        let call = records.iter().find(|record| is_call(record)).unwrap();
        assert_eq!(call.fields["version"], version, "{path}");
    }
}

#[tokio::test]
async fn secrets_apply_without_a_deployment_and_removal_at_once() {
    let functions = TestFunctions::with(&[], &[]).await;
    let code = "Deno.serve(() => new Response(Deno.env.get('WORD') ?? 'none'));";
    functions.store.deploy("hello", &[("hello/index.ts", code)]);
    assert_eq!(functions.fetch("hello").await, (200, "none".to_owned()));

    functions.store.set_secret("WORD", "texts");
    functions.store.set_secret("SUPABASE_URL", "forged");
    functions.changed().await;
    until(async || functions.fetch("hello").await.1 == "texts").await;

    functions.store.remove("hello");
    functions.changed().await;
    assert_eq!(functions.failure("hello").await.0, 404);
}

#[tokio::test]
async fn what_is_deployed_under_the_name_of_a_deleted_function_is_what_runs() {
    let functions = TestFunctions::with(&[], &[]).await;
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("old")), END]);
    assert_eq!(functions.fetch("hello").await, (200, "old.".to_owned()));
    functions.store.remove("hello");
    functions.changed().await;
    assert_eq!(functions.failure("hello").await.0, 404);

    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("new")), END]);
    functions.changed().await;

    assert_eq!(functions.fetch("hello").await, (200, "new.".to_owned()));
    let home = functions
        .home()
        .join(functions.project.reference().as_str());
    let unpacked = || {
        std::fs::read_dir(home.join("deployed/hello"))
            .unwrap()
            .count()
    };
    until(async || unpacked() == 1).await;
}

#[tokio::test]
async fn paths_lead_to_the_same_files_in_the_folder_and_deployed() {
    const READS: &str =
        "Deno.serve(async () => new Response(await Deno.readTextFile('_shared/note.txt')));";
    const NOTE: (&str, &str) = ("_shared/note.txt", "a note");
    let functions = TestFunctions::with(&[("here/index.ts", READS), NOTE], &[]).await;
    functions
        .store
        .deploy("there", &[("there/index.ts", READS), NOTE]);
    functions.changed().await;

    let expected = (200, "a note".to_owned());
    assert_eq!(functions.fetch("here").await, expected);
    assert_eq!(functions.fetch("there").await, expected);
}

#[tokio::test]
async fn a_deployed_function_may_stand_in_the_settings() {
    let settings = "[functions.there]\nverify_jwt = false\n[functions.nowhere]\nverify_jwt = false";
    let functions = TestFunctions::with(&[], &[("config.toml", settings)]).await;
    functions
        .store
        .deploy("there", &[("there/index.ts", &saying("v1")), END]);
    functions.changed().await;

    functions.watch();
    let reports = |record: &Record, slug: &str, event: &str| {
        record.fields["function"] == slug && record.fields["event_type"] == event
    };
    functions
        .records_with(|record| reports(record, "nowhere", "BootFailure"))
        .await;

    assert_eq!(functions.fetch("there").await, (200, "v1.".to_owned()));
    let records = functions
        .records_with(|record| reports(record, "there", "Boot"))
        .await;
    let has_failed = |record| reports(record, "there", "BootFailure");
    assert!(!records.iter().any(has_failed));
}

#[tokio::test]
async fn a_function_of_the_folder_wins_over_a_deployed_one() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('folder'));").await;
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("deployed")), END]);
    functions
        .store
        .deploy("other", &[("other/index.ts", &saying("deployed")), END]);

    assert_eq!(functions.fetch("hello").await, (200, "folder".to_owned()));
    assert_eq!(
        functions.fetch("other").await,
        (200, "deployed.".to_owned())
    );
}

#[tokio::test]
async fn what_is_about_to_be_deployed_is_checked_in_the_runtimes_own_words() {
    let functions = TestFunctions::with(&[], &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let source = FunctionSource {
        entrypoint: "supabase/functions/hello/index.ts".to_owned(),
        import_map: None,
        static_patterns: Vec::new(),
    };
    let entry = folder.path().join(&source.entrypoint);
    std::fs::create_dir_all(entry.parent().unwrap()).unwrap();

    std::fs::write(&entry, "const ok = 1;\nconst x = = 1;").unwrap();
    let rejected = functions
        .service
        .prepare(&functions.project, &source, folder.path())
        .await;
    let message = rejected.unwrap_err().to_string();
    assert!(
        message.contains("supabase/functions/hello/index.ts:2:"),
        "{message}"
    );
    assert!(!message.contains("trial-"), "{message}");

    std::fs::write(&entry, "Deno.serve(() => new Response());").unwrap();
    functions
        .service
        .prepare(&functions.project, &source, folder.path())
        .await
        .unwrap();
}

#[tokio::test]
async fn workers_go_when_their_project_is_closed() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('fine'));").await;
    functions.fetch("hello").await;
    assert_eq!(functions.worker_pids().len(), 1);

    functions.project.closed().cancel();

    until(async || functions.processes().is_empty()).await;
}

#[tokio::test]
async fn nothing_of_a_deleted_project_stays() {
    let functions = TestFunctions::with(&[], &[]).await;
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    functions.fetch("hello").await;
    let home = functions
        .home()
        .join(functions.project.reference().as_str());
    assert!(home.is_dir());
    if rustix::process::geteuid().is_root() {
        assert_eq!(functions.system_users().len(), 1);
    }

    functions
        .service
        .remove_project(functions.project.reference())
        .await
        .unwrap();

    assert!(!home.exists());
    if rustix::process::geteuid().is_root() {
        // Its user goes to the next project: nothing may run as that user any more.
        let processes = functions.processes();
        assert!(processes.is_empty(), "{processes:?}");
        assert_eq!(functions.system_users(), [""; 0]);
    }
    until(async || functions.processes().is_empty()).await;
    functions
        .service
        .remove_project(functions.project.reference())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_was_read_before_a_change_is_not_kept_after_it() {
    let functions = Arc::new(TestFunctions::with(&[], &[]).await);
    let store = &functions.store;
    store.deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    *store.gate.lock().unwrap() = Some(gate.clone());
    let early = tokio::spawn({
        let functions = functions.clone();
        async move { functions.fetch("hello").await }
    });
    until(async || store.came_to_gate.load(Ordering::SeqCst) == 1).await;

    *store.gate.lock().unwrap() = None;
    store.deploy("hello", &[("hello/index.ts", &saying("v2")), END]);
    functions.changed().await;
    assert_eq!(functions.fetch("hello").await.1, "v2.");
    gate.add_permits(1);

    assert_eq!(early.await.unwrap().1, "v2.");
    assert_eq!(functions.fetch("hello").await.1, "v2.");
}

#[tokio::test]
async fn the_old_version_serves_where_there_is_no_capacity_for_the_new_one() {
    const WAIT_TIMEOUT: Duration = Duration::from_millis(300);
    let functions = TestFunctions::start(TestOptions {
        settings: &[("plinth.functions.wait_timeout", "300ms")],
        max_workers: Some(1),
        ..TestOptions::default()
    })
    .await;
    let code = |word: &str| {
        format!(
            "const slow = Promise.withResolvers<void>();
             Deno.serve(async (req) => {{
               if (req.url.endsWith('/slow')) {{ console.log('slow'); await slow.promise; }}
               if (req.url.endsWith('/end')) slow.resolve();
               return new Response('{word}');
             }});"
        )
    };
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &code("v1"))]);
    assert_eq!(functions.fetch("hello").await, (200, "v1".to_owned()));
    let slow = tokio::spawn(functions.get("hello/slow").send());
    functions.logged("slow").await;

    functions
        .store
        .deploy("hello", &[("hello/index.ts", &code("v2"))]);
    functions.changed().await;
    // A worker of the new version has found no room by then.
    tokio::time::sleep(WAIT_TIMEOUT * 3).await;
    assert_eq!(functions.fetch("hello").await, (200, "v1".to_owned()));

    assert_eq!(functions.fetch("hello/end").await.1, "v1");
    let slow = slow.await.unwrap().unwrap();
    assert_eq!(slow.text().await.unwrap(), "v1");
    until(async || functions.fetch("hello").await.1 == "v2").await;
}

#[tokio::test]
async fn background_work_outlives_a_deployment() {
    let functions = TestFunctions::with(&[], &[("plinth.functions.graceful_exit", "500ms")]).await;
    let old = "Deno.serve(() => { EdgeRuntime.waitUntil(new Promise((r) => setTimeout(r, 4000)).then(() => console.log('done'))); return new Response('v1'); });";
    functions.store.deploy("hello", &[("hello/index.ts", old)]);
    assert_eq!(functions.fetch("hello").await.1, "v1");

    let new = "Deno.serve(() => new Response('v2'));";
    functions.store.deploy("hello", &[("hello/index.ts", new)]);
    functions.changed().await;
    until(async || functions.fetch("hello").await.1 == "v2").await;

    functions
        .records_with(|record| record.message == "done")
        .await;
}

#[tokio::test]
async fn work_of_a_version_that_went_does_not_hold_the_service_up() {
    let functions = TestFunctions::with(&[], &[("plinth.functions.graceful_exit", "1s")]).await;
    let endless = "Deno.serve(() => { EdgeRuntime.waitUntil(new Promise(() => setInterval(() => {}, 1000))); return new Response('v1'); });";
    functions
        .store
        .deploy("hello", &[("hello/index.ts", endless)]);
    assert_eq!(functions.fetch("hello").await, (200, "v1".to_owned()));
    let code = "Deno.serve(() => new Response('v2'));";
    functions.store.deploy("hello", &[("hello/index.ts", code)]);
    functions.changed().await;
    let began = std::time::Instant::now();
    while functions.fetch("hello").await.1 != "v2" {
        assert!(began.elapsed() < TEST_TIMEOUT, "the new one never comes");
    }

    let began = std::time::Instant::now();
    functions.service.finish().await;

    assert!(began.elapsed() < TEST_TIMEOUT / 2);
    assert!(functions.processes().is_empty());
}

#[tokio::test]
async fn a_request_that_waited_for_an_old_version_does_not_bring_it_back() {
    let functions = TestFunctions::with(&[], &[]).await;
    let slow = "console.log('v1 boots'); await new Promise((go) => setTimeout(go, 3000)); Deno.serve(() => new Response('v1'));";
    functions.store.deploy("hello", &[("hello/index.ts", slow)]);
    let waiting = tokio::spawn(functions.get("hello").send());
    functions.logged("v1 boots").await;
    let code = "Deno.serve(() => new Response('v2'));";
    functions.store.deploy("hello", &[("hello/index.ts", code)]);
    functions.changed().await;

    let response = waiting.await.unwrap().unwrap();
    let mut texts = vec![response.text().await.unwrap()];
    until(async || {
        texts.push(functions.fetch("hello").await.1);
        texts.last().is_some_and(|text| text == "v2")
    })
    .await;
    // Long enough for the slow boot of the old version to end, whose worker must not come back.
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        texts.push(functions.fetch("hello").await.1);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    let new = texts.iter().position(|word| word == "v2").expect("v2");
    assert!(texts[new..].iter().all(|word| word == "v2"), "{texts:?}");
}

/// Takes its time to begin.
fn slowly(code: &str) -> String {
    format!("await new Promise((r) => setTimeout(r, 1500)); {code}")
}

#[tokio::test]
async fn a_change_during_a_change_is_taken_over_unasked() {
    let functions = TestFunctions::with(&[], &[]).await;
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    assert_eq!(functions.fetch("hello").await.1, "v1.");

    for word in ["v2", "v3"] {
        let code = format!("console.log('{word} boots'); {}", slowly(&saying(word)));
        // Imports stand at the top.
        let code = code.replace(
            "import { end } from '../_shared/end.ts';",
            "const end = '.';",
        );
        functions
            .store
            .deploy("hello", &[("hello/index.ts", &code)]);
        functions.changed().await;
        functions.logged(&format!("{word} boots")).await;
    }
}

#[tokio::test]
async fn a_version_that_wants_tokens_never_serves_without() {
    let functions = TestFunctions::with(&[], &[]).await;
    let old = "Deno.serve(() => new Response('trusts its callers'));";
    functions.store.deploy("hello", &[("hello/index.ts", old)]);
    assert_eq!(functions.fetch("hello").await.0, 200);

    let new = slowly("Deno.serve(() => new Response('open'));");
    functions.store.deploy("hello", &[("hello/index.ts", &new)]);
    functions.store.open("hello");
    functions.changed().await;

    let began = std::time::Instant::now();
    let mut rejected = 0;
    loop {
        let response = reqwest::get(functions.url("hello"))
            .await
            .expect("a response");
        match response.status().as_u16() {
            401 => rejected += 1,
            status => {
                let text = response.text().await.expect("text");
                assert_eq!((status, &*text), (200, "open"));
                break;
            }
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "the new one never comes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(rejected > 0, "the old one serves meanwhile");
}

#[tokio::test]
async fn the_old_version_serves_where_this_machine_cannot_make_the_new_one_ready() {
    let functions = TestFunctions::with(&[], &[]).await;
    functions
        .store
        .deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    assert_eq!(functions.fetch("hello").await.1, "v1.");

    // Where it was deployed, it could be fetched.
    let new = "import 'http://127.0.0.1:9/gone.ts'; Deno.serve(() => new Response('v2'));";
    functions.store.deploy("hello", &[("hello/index.ts", new)]);
    functions.changed().await;

    functions
        .records_with(|record| record.message.contains("failed to start"))
        .await;
    assert_eq!(functions.fetch("hello").await, (200, "v1.".to_owned()));
}
