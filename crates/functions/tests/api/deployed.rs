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

use crate::support::{TestFunctions, until};

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
        .shelf
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
                    let answer = functions
                        .post("hello")
                        .body("x")
                        .send()
                        .await
                        .expect("an answer");
                    let status = answer.status().as_u16();
                    let text = answer.text().await.expect("a whole answer");
                    assert_eq!((status, &text[..1], &text[2..]), (200, "v", "."), "{text}");
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();

    for word in ["v2", "v3"] {
        functions
            .shelf
            .deploy("hello", &[("hello/index.ts", &saying(word)), END]);
        functions
            .service
            .changed(functions.project.reference())
            .await;
        let expected = format!("{word}.");
        while functions.fetch("hello").await.1 != expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let home = functions
        .home()
        .join(functions.project.reference().as_str());
    assert!(home.join("deployed/hello/3/source").is_dir());
    assert!(
        !home.join("deployed/hello/1").exists(),
        "old versions are cleared away"
    );
    while count.load(Ordering::SeqCst) < 1000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.expect("no request failed");
    }
}

#[tokio::test]
async fn a_record_names_the_version_that_answered() {
    let functions = TestFunctions::with(&[], &[]).await;
    let saying = |word: &str, delay: u32| {
        format!(
            "await new Promise((r) => setTimeout(r, {delay})); Deno.serve(() => new Response('{word}'));"
        )
    };
    functions
        .shelf
        .deploy("hello", &[("hello/index.ts", &saying("one", 0))]);
    assert_eq!(functions.fetch("hello").await, (200, "one".to_owned()));

    functions
        .shelf
        .deploy("hello", &[("hello/index.ts", &saying("two", 2000))]);
    functions
        .service
        .changed(functions.project.reference())
        .await;
    assert_eq!(functions.fetch("hello/early").await.1, "one");
    while functions.fetch("hello").await.1 != "two" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
    functions.shelf.deploy("hello", &[("hello/index.ts", code)]);
    assert_eq!(functions.fetch("hello").await, (200, "none".to_owned()));

    functions.shelf.set_secret("WORD", "told");
    functions.shelf.set_secret("SUPABASE_URL", "forged");
    functions
        .service
        .changed(functions.project.reference())
        .await;
    while functions.fetch("hello").await.1 != "told" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    functions.shelf.remove("hello");
    functions
        .service
        .changed(functions.project.reference())
        .await;
    assert_eq!(functions.failure("hello").await.0, 404);
}

#[tokio::test]
async fn a_function_of_the_folder_wins_over_a_deployed_one() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('folder'));").await;
    functions
        .shelf
        .deploy("hello", &[("hello/index.ts", &saying("deployed")), END]);
    functions
        .shelf
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
    let refused = functions
        .service
        .prepare(&functions.project, &source, folder.path())
        .await;
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("supabase/functions/hello/index.ts:2:"),
        "{told}"
    );
    assert!(!told.contains("trial-"), "{told}");

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

    until("all processes to go", || functions.processes().is_empty()).await;
}

#[tokio::test]
async fn nothing_of_a_forgotten_project_stays() {
    let functions = TestFunctions::with(&[], &[]).await;
    functions
        .shelf
        .deploy("hello", &[("hello/index.ts", &saying("v1")), END]);
    functions.fetch("hello").await;
    let home = functions
        .home()
        .join(functions.project.reference().as_str());
    assert!(home.is_dir());

    functions
        .service
        .forget(functions.project.reference())
        .await
        .unwrap();

    assert!(!home.exists());
    until("all processes to go", || functions.processes().is_empty()).await;
    functions
        .service
        .forget(functions.project.reference())
        .await
        .unwrap();
}
