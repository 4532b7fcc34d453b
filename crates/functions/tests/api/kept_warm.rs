//! `min_workers`: workers that are kept although they are idle (functions contract §14.4).

use std::{fs, time::Duration};

use super::support::{TestFunctions, TestOptions, until};

const CODE: &str = "Deno.serve(() => new Response('fine'));";
const WORKER_IDLE: Duration = Duration::from_millis(300);
const SETTINGS: &[(&str, &str)] = &[
    ("plinth.functions.min_workers", "1"),
    ("plinth.functions.prewarmed_processes", "0"),
    ("plinth.functions.worker_idle", "300ms"),
];

async fn stays(functions: &TestFunctions) {
    let workers = functions.worker_pids();
    assert_eq!(workers.len(), 1);
    // Any other worker would have ended after its idle time.
    tokio::time::sleep(WORKER_IDLE * 4).await;
    assert_eq!(functions.worker_pids(), workers);
}

#[tokio::test]
async fn they_go_with_their_function() {
    let functions = TestFunctions::with(&[("hello/index.ts", CODE)], SETTINGS).await;
    functions.watch();
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    stays(&functions).await;

    fs::remove_dir_all(functions.functions_folder().join("hello")).expect("a folder");
    until(async || functions.processes().is_empty()).await;
}

#[tokio::test]
async fn they_go_with_the_setting() {
    let functions = TestFunctions::with(&[("hello/index.ts", CODE)], SETTINGS).await;
    assert_eq!(functions.fetch("hello").await.0, 200);
    stays(&functions).await;

    functions.set(&SETTINGS[1..]);
    until(async || functions.processes().is_empty()).await;
}

#[tokio::test]
async fn they_go_with_their_project_and_not_with_a_version() {
    let functions = TestFunctions::with(&[], SETTINGS).await;
    functions.store.deploy("hello", &[("hello/index.ts", CODE)]);
    assert_eq!(functions.fetch("hello").await.0, 200);

    let new = "Deno.serve(() => new Response('new'));";
    functions.store.deploy("hello", &[("hello/index.ts", new)]);
    functions.changed().await;
    until(async || functions.fetch("hello").await.1 == "new").await;
    until(async || functions.worker_pids().len() == 1).await;
    stays(&functions).await;

    functions.project.closed().cancel();
    until(async || functions.processes().is_empty()).await;
}

#[tokio::test]
async fn prewarmed_processes_are_evicted_for_others() {
    let functions = TestFunctions::start(TestOptions {
        files: &[("one/index.ts", CODE), ("two/index.ts", CODE)],
        settings: SETTINGS,
        max_workers: Some(1),
        ..TestOptions::default()
    })
    .await;
    for name in ["one", "two", "one", "two"] {
        assert_eq!(functions.fetch(name).await.0, 200);
    }
    assert_eq!(functions.worker_pids().len(), 1);
}
