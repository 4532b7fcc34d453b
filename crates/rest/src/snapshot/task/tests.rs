//! When the task loads. The database cannot be reached, so every load shows as a failure.

use std::path::Path;

use plinth_db::{PoolConfig, Target};
use plinth_project::{FromSettings, Project};
use plinth_testkit::{ProjectBuilder, load_settings};

use super::*;
use crate::{RestError, snapshot::SnapshotCache};

fn unreachable() -> Project {
    let nowhere = Path::new("/nonexistent/plinth");
    let target = Target::unix(nowhere, 1, "nobody", "", "nothing");
    ProjectBuilder::new(ProjectDb::standalone(target, PoolConfig::default())).build()
}

fn base() -> Arc<RestConfig> {
    let mut config = RestConfig::from_settings(&load_settings(&[]));
    config.channel = None;
    Arc::new(config)
}

/// A task between two loads, and the sender of its requests.
fn task() -> (LoadTask, mpsc::UnboundedSender<LoadRequest>) {
    let (sender, load_requests) = mpsc::unbounded_channel();
    let project = unreachable();
    let task = LoadTask {
        db: project.db.clone(),
        metrics: Arc::new(RestMetrics::for_project(&project)),
        base: base(),
        settings_role: SettingsRole::Login,
        config_reload: Arc::default(),
        shared: Arc::new(Shared {
            snapshot: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Listening),
            last_used: AtomicU64::new(0),
        }),
        load_requests,
        started: Instant::now(),
        stop: CancellationToken::new(),
        backoff: INITIAL_BACKOFF,
    };
    (task, sender)
}

fn load_request(reason: LoadReason) -> (LoadRequest, oneshot::Receiver<()>) {
    let (_done, is_done) = oneshot::channel();
    (LoadRequest { reason, _done }, is_done)
}

fn has_loaded(task: &LoadTask) -> bool {
    *task.shared.state.borrow() == State::Failing
}

fn notification(payload: &str) -> ListenEvent {
    ListenEvent::Notification {
        channel: "pgrst".to_owned(),
        payload: payload.to_owned(),
    }
}

#[test]
fn three_payloads_cause_a_load() {
    for payload in ["", "reload schema", "reload config"] {
        assert!(is_reload(payload), "{payload}");
    }
    for payload in ["reload", "RELOAD SCHEMA", " reload schema", "anything"] {
        assert!(!is_reload(payload), "{payload}");
    }
}

#[tokio::test]
async fn a_burst_of_notifications_makes_one_more_load_at_its_end() {
    let (mut task, _requests) = task();
    let (sender, mut notifications) = mpsc::channel(16);
    for payload in ["reload schema", "anything", "", "reload schema"] {
        sender.send(notification(payload)).await.expect("capacity");
    }
    let started = Instant::now();

    task.debounce(&mut notifications).await;

    assert!(has_loaded(&task));
    assert!(started.elapsed() >= DEBOUNCE);
    assert!(notifications.is_empty(), "all of them were received");
}

#[tokio::test]
async fn other_payloads_cause_no_load() {
    let (mut task, _requests) = task();
    let (sender, mut notifications) = mpsc::channel(16);
    sender
        .send(notification("anything"))
        .await
        .expect("capacity");

    task.debounce(&mut notifications).await;

    assert!(!has_loaded(&task));
}

#[tokio::test]
async fn a_load_request_does_not_wait_for_the_burst_to_end() {
    let (mut task, requests) = task();
    let (_sender, mut notifications) = mpsc::channel(16);
    let newer = base();
    let (request, is_done) = load_request(LoadReason::Requested(newer.clone()));
    requests.send(request).expect("the task is there");

    task.debounce(&mut notifications).await;

    assert!(has_loaded(&task));
    assert!(Arc::ptr_eq(&task.base, &newer));
    is_done.await.expect_err("dropped when the load has ended");
}

#[tokio::test]
async fn one_load_serves_all_queued_requests() {
    let (mut task, requests) = task();
    let newer = base();
    let reasons = [
        LoadReason::Outdated(base()),
        LoadReason::Requested(newer.clone()),
        LoadReason::MaybeOutdated,
    ];
    let waiting = reasons.map(|reason| {
        let (request, is_done) = load_request(reason);
        requests.send(request).expect("the task is there");
        is_done
    });

    task.load_for(None).await;

    assert!(has_loaded(&task));
    assert!(Arc::ptr_eq(&task.base, &newer), "the last settings count");
    assert!(task.load_requests.is_empty());
    for is_done in waiting {
        is_done.await.expect_err("dropped when the load has ended");
    }
}

#[tokio::test]
async fn a_reconnected_listener_causes_a_load() {
    let (mut task, _requests) = task();
    let (sender, mut notifications) = mpsc::channel(16);
    sender.send(ListenEvent::Connected).await.expect("capacity");

    task.debounce(&mut notifications).await;

    assert!(has_loaded(&task));
}

#[tokio::test]
async fn only_reload_config_has_the_settings_read_again() {
    let (task, _requests) = task();

    assert!(task.requires_load(&notification("reload schema")));
    let notified = tokio::time::timeout(Duration::ZERO, task.config_reload.notified());
    notified.await.expect_err("the settings were not mentioned");

    assert!(task.requires_load(&notification("reload config")));
    task.config_reload.notified().await;
}

#[test]
fn a_project_without_requests_is_idle() {
    let (mut task, _requests) = task();
    assert!(!task.is_idle(), "it has just started");
    let Some(long_ago) = Instant::now().checked_sub(IDLE_TIMEOUT) else {
        return;
    };
    task.started = long_ago;
    assert!(task.is_idle());
    let now = long_ago.elapsed().as_millis() as u64;
    task.shared.last_used.store(now, Ordering::Relaxed);
    assert!(!task.is_idle(), "a request has just used it");
}

#[tokio::test]
async fn without_a_first_load_there_is_nothing_to_serve_from() {
    let base = base();
    let snapshots = SnapshotCache::start(
        &unreachable(),
        base.clone(),
        SettingsRole::Login,
        Arc::default(),
    );

    let error = snapshots.snapshot(&base).await.err().expect("an error");

    assert!(matches!(error, RestError::NoSchemaCache), "{error}");
    assert!(snapshots.latest().is_none());
}
