//! Background jobs: the queue of a kind, results, cancellation, what a restart leaves.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::Method;
use plinth_platform::{
    Job, JobContext, JobFilter, JobHandler, JobKind, JobProgress, JobRequest, JobState,
    PlatformError, TokenLimits,
};
use plinth_project::{ProjectName, ProjectRef};
use plinth_testkit::{TestServer, until, until_some};
use serde_json::{Value, json};
use support::TestPlatform;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

const KIND: JobKind = JobKind {
    name: "test",
    max_running: 1,
};

async fn load(app: &TestPlatform, id: Uuid) -> Job {
    app.platform.load_job(id).await.expect("the job")
}

/// The job, once it is in this state.
async fn in_state(app: &TestPlatform, id: Uuid, state: JobState) -> Job {
    until_some(async || Some(load(app, id).await).filter(|job| job.state == state)).await
}

/// A job that works until it is cancelled.
async fn endless(app: &TestPlatform, project: Option<&ProjectRef>) -> Uuid {
    let request = JobRequest {
        project,
        ..JobRequest::default()
    };
    let work = async |job: JobContext| {
        job.until_cancelled(std::future::pending::<Result<Value, PlatformError>>())
            .await
    };
    app.platform
        .run_job(KIND, request, work)
        .await
        .expect("a job")
}

#[tokio::test]
async fn a_job_has_progress_and_a_result() {
    let app = TestPlatform::start().await;
    let go_on = Arc::new(Semaphore::new(0));
    let wait = go_on.clone();
    let work = async move |job: JobContext| {
        job.report(JobProgress {
            done: 1,
            total: 3,
            unit: "rows".to_owned(),
            message: "importing".to_owned(),
        });
        _ = wait.acquire().await;
        Ok(json!({ "rows": 3 }))
    };

    let request = JobRequest {
        created_by: Some("ada"),
        ..JobRequest::default()
    };
    let id = app.platform.run_job(KIND, request, work).await;
    let id = id.expect("a job");
    until(async || load(&app, id).await.progress.done == 1).await;
    let uri = format!("/platform/jobs/{id}");
    let running = app.request(Method::GET, &uri, None).await.ok();
    go_on.add_permits(1);
    let done = in_state(&app, id, JobState::Succeeded).await;

    assert_eq!(running["state"], "running");
    assert_eq!(
        running["progress"],
        json!({ "done": 1, "total": 3, "unit": "rows" })
    );
    assert_eq!(running["message"], "importing");
    assert_eq!(running["created_by"], "ada");
    assert_eq!(running["result"], Value::Null);
    assert_eq!(done.result, Some(json!({ "rows": 3 })));
    assert_eq!(done.progress.done, 3);
    assert!(done.started_at.is_some() && done.finished_at.is_some());
}

#[tokio::test]
async fn a_failed_job_says_why() {
    let app = TestPlatform::start().await;
    let work =
        async |_: JobContext| Err(PlatformError::Conflict("The file has no header".to_owned()));

    let id = app
        .platform
        .run_job(KIND, JobRequest::default(), work)
        .await;

    let job = in_state(&app, id.expect("a job"), JobState::Failed).await;
    assert_eq!(job.error.as_deref(), Some("The file has no header"));
    assert_eq!(job.result, None);
}

#[tokio::test]
async fn jobs_of_a_kind_wait_for_each_other() {
    let app = TestPlatform::start().await;
    let running = Arc::new(AtomicUsize::new(0));
    let go_on = Arc::new(Semaphore::new(0));
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (running, go_on) = (running.clone(), go_on.clone());
        let work = async move |_: JobContext| {
            running.fetch_add(1, Ordering::SeqCst);
            if let Ok(permit) = go_on.acquire().await {
                permit.forget();
            }
            Ok(Value::Null)
        };
        let id = app
            .platform
            .run_job(KIND, JobRequest::default(), work)
            .await;
        ids.push(id.expect("a job"));
    }

    until(async || running.load(Ordering::SeqCst) == 1).await;
    let states = async || {
        let mut states = Vec::new();
        for id in &ids {
            states.push(load(&app, *id).await.state);
        }
        states
    };
    let before = states().await;
    go_on.add_permits(3);
    for id in &ids {
        in_state(&app, *id, JobState::Succeeded).await;
    }

    let count = |wanted| before.iter().filter(|state| **state == wanted).count();
    assert_eq!(
        (count(JobState::Running), count(JobState::Queued)),
        (1, 2),
        "{before:?}"
    );
    assert_eq!(running.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn running_and_waiting_jobs_can_be_cancelled() {
    let app = TestPlatform::start().await;
    let running = endless(&app, None).await;
    in_state(&app, running, JobState::Running).await;
    let waiting = endless(&app, None).await;

    for id in [waiting, running] {
        let uri = format!("/platform/jobs/{id}/cancel");
        let reply = app.request(Method::POST, &uri, None).await;
        reply.expect_status(202);
        let job = in_state(&app, id, JobState::Cancelled).await;
        assert!(job.cancel_requested && job.finished_at.is_some());
    }

    let uri = format!("/platform/jobs/{running}/cancel");
    let again = app.request(Method::POST, &uri, None).await;
    assert_eq!(again.expect_status(409).json()["code"], "conflict");
    let none = format!("/platform/jobs/{}/cancel", Uuid::from_u128(1));
    app.request(Method::POST, &none, None)
        .await
        .expect_status(404);
}

/// As a process leaves it that was killed.
async fn abandon(app: &TestPlatform, id: Uuid) {
    let zero = TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    let sql = "update platform.jobs
               set state = 'running', node = gen_random_uuid(), finished_at = null,
                   updated_at = now() - interval '5 minutes'
               where id = $1";
    zero.execute(sql, &[&id]).await.expect("an update");
}

#[tokio::test]
async fn an_abandoned_job_fails_unless_its_kind_is_resumed() {
    let app = TestPlatform::start().await;
    let (sender, mut inputs) = mpsc::unbounded_channel();
    const RESUMED: JobKind = JobKind {
        name: "resumed",
        max_running: 1,
    };
    let work = move |job: JobContext| {
        let sender = sender.clone();
        async move {
            _ = sender.send(job.input.clone());
            Ok(json!("done"))
        }
    };
    app.platform
        .set_job_handler(JobHandler::new(RESUMED, work.clone()));
    let other = app
        .platform
        .run_job(KIND, JobRequest::default(), async |_| Ok(Value::Null))
        .await
        .expect("a job");
    let request = JobRequest {
        input: Some(json!({ "file": "a.csv" })),
        ..JobRequest::default()
    };
    let resumed = app.platform.run_job(RESUMED, request, work).await;
    let resumed = resumed.expect("a job");
    for id in [other, resumed] {
        in_state(&app, id, JobState::Succeeded).await;
    }
    assert!(inputs.recv().await.is_some());
    for id in [other, resumed] {
        abandon(&app, id).await;
    }

    app.platform.adopt_jobs(false).await.expect("looked for");

    let failed = in_state(&app, other, JobState::Failed).await;
    let reason = failed.error.expect("a reason");
    assert!(reason.contains("ended before"), "{reason}");
    in_state(&app, resumed, JobState::Succeeded).await;
    assert_eq!(inputs.recv().await, Some(json!({ "file": "a.csv" })));
}

#[tokio::test]
async fn a_job_that_always_interrupts_the_server_is_given_up() {
    let app = TestPlatform::start().await;
    let work = |_: JobContext| async { Ok(Value::Null) };
    app.platform.set_job_handler(JobHandler::new(KIND, work));
    let request = JobRequest {
        input: Some(json!({})),
        ..JobRequest::default()
    };
    let id = app.platform.run_job(KIND, request, work).await;
    let id = id.expect("a job");
    in_state(&app, id, JobState::Succeeded).await;
    let zero = TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    let sql = "update platform.jobs set attempts = 5";
    zero.batch_execute(sql).await.expect("an update");
    abandon(&app, id).await;

    app.platform.adopt_jobs(false).await.expect("looked for");

    let job = in_state(&app, id, JobState::Failed).await;
    assert!(job.error.expect("a reason").contains("5 times"));
}

#[tokio::test]
async fn a_shutdown_interrupts_jobs_and_keeps_those_that_can_go_on() {
    let app = TestPlatform::start().await;
    const RESUMED: JobKind = JobKind {
        name: "resumed",
        max_running: 1,
    };
    let endless_work = |job: JobContext| async move {
        job.until_cancelled(std::future::pending::<Result<Value, PlatformError>>())
            .await
    };
    app.platform
        .set_job_handler(JobHandler::new(RESUMED, endless_work));
    let request = JobRequest {
        input: Some(json!({})),
        ..JobRequest::default()
    };
    let resumed = app
        .platform
        .run_job(RESUMED, request, endless_work)
        .await
        .expect("a job");
    let other = endless(&app, None).await;
    for id in [resumed, other] {
        in_state(&app, id, JobState::Running).await;
    }

    app.platform.begin_shutdown();
    tokio::time::timeout(Duration::from_secs(20), app.platform.drain())
        .await
        .expect("jobs end with the server");

    assert_eq!(load(&app, resumed).await.state, JobState::Queued);
    assert_eq!(load(&app, other).await.state, JobState::Failed);
}

#[tokio::test]
async fn pages_have_only_what_a_token_may_see() {
    let app = TestPlatform::start().await;
    let mine = app.project("Mine").await;
    let other = app.project("Other").await;
    let (mine, other) = (app.reference(&mine).await, app.reference(&other).await);
    let limits = TokenLimits {
        projects: Some(vec![mine.clone()]),
        ..TokenLimits::default()
    };
    let (_, token) = app.token_with("ci", limits).await;
    let mut own = Vec::new();
    for project in [
        Some(&mine),
        Some(&other),
        None,
        Some(&mine),
        Some(&other),
        Some(&mine),
    ] {
        let request = JobRequest {
            project,
            ..JobRequest::default()
        };
        let work = async |_: JobContext| Ok(Value::Null);
        let id = app.platform.run_job(KIND, request, work).await;
        let id = id.expect("a job");
        in_state(&app, id, JobState::Succeeded).await;
        if project == Some(&mine) {
            own.push(id.to_string());
        }
    }
    own.reverse();
    let get = async |uri: &str| {
        let call = plinth_testkit::Call::new(
            plinth_platform::api::routes(app.platform.clone()),
            Method::GET,
            uri,
        );
        call.bearer(token.expose()).await
    };
    let ids = |body: &Value| -> Vec<String> {
        let jobs = body.as_array().expect("a list").iter();
        jobs.map(|job| job["id"].as_str().unwrap_or_default().to_owned())
            .collect()
    };

    let first = get("/platform/jobs?limit=2").await;
    let cursor = first
        .header("x-next-cursor")
        .expect("a next page")
        .to_owned();
    let second = get(&format!("/platform/jobs?limit=2&cursor={cursor}")).await;

    assert_eq!(ids(&first.json()), own[..2]);
    assert_eq!(ids(&second.json()), own[2..]);
    assert_eq!(second.header("x-next-cursor"), None);
    let filtered = get("/platform/jobs?state=failed,running").await;
    assert_eq!(ids(&filtered.json()), [""; 0]);
    let kind = get("/platform/jobs?kind=test&state=succeeded").await;
    assert_eq!(ids(&kind.json()).len(), 3);
    let of_other = get(&format!("/platform/jobs?project={other}")).await;
    of_other.expect_status(403);
    let filter = JobFilter {
        limit: 100,
        ..JobFilter::default()
    };
    let hidden = app.platform.list_jobs(&filter).await.expect("all jobs");
    let hidden = hidden
        .iter()
        .find(|job| job.project.as_deref() == Some(other.as_str()));
    let hidden = hidden.expect("a job of the other project").id;
    get(&format!("/platform/jobs/{hidden}"))
        .await
        .expect_status(404);
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let app = TestPlatform::start().await;
    for query in [
        "state=done",
        "cursor=x",
        "cursor=1_2",
        "limit=many",
        "cursor=99999999999999999999_00000000000000000000000000000001",
    ] {
        let uri = format!("/platform/jobs?{query}");
        let reply = app.request(Method::GET, &uri, None).await;
        let body = reply.expect_status(400).json();
        assert_eq!(body["code"], "invalid_request", "{query}");
    }
    let reply = app
        .request(Method::GET, "/platform/jobs/nonsense", None)
        .await;
    reply.expect_status(404);
    let name = ProjectName::Default;
    let reference = app.reference(&name).await;
    let uri = format!("/platform/jobs?project={reference}&limit=0&kind=%F0%9F%98%80%22'");
    assert_eq!(app.request(Method::GET, &uri, None).await.ok(), json!([]));
}
