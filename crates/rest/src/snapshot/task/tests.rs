//! When to load again, told by a database that cannot be reached: every attempt shows as a
//! failure.

use std::path::Path;

use plinth_db::{PoolConfig, Target};
use plinth_log::LogStore;
use plinth_project::{FromSettings, ProjectKeys, ProjectKind, ProjectRef};
use plinth_settings::SettingsHandle;
use plinth_token::KeySet;

use super::*;
use crate::snapshot::*;

fn unreachable() -> Project {
    let nowhere = Path::new("/nonexistent/plinth");
    let target = Target::unix(nowhere, 1, "nobody", "", "nothing");
    let (logs, _writer) =
        LogStore::open(std::env::temp_dir(), plinth_log::Config::default()).expect("a log store");
    let settings = plinth_settings::Loader::new().load().expect("defaults");
    Project::new(
        ProjectRef::generate(),
        ProjectKind::Default,
        ProjectDb::alone(target, PoolConfig::default()),
        ProjectKeys::new(KeySet::builder().build().expect("no keys")),
        SettingsHandle::new(settings.settings),
        logs,
    )
}

fn base() -> Arc<RestConfig> {
    let settings = plinth_settings::Loader::new()
        .load()
        .expect("defaults")
        .settings;
    let mut config = RestConfig::from_settings(&settings);
    config.channel = None;
    Arc::new(config)
}

/// A task between two loads, and the way to give it orders.
fn task() -> (Task, mpsc::UnboundedSender<Order>) {
    let (sender, orders) = mpsc::unbounded_channel();
    let project = unreachable();
    let task = Task {
        db: project.db.clone(),
        numbers: Arc::new(Numbers::of(&project)),
        base: base(),
        settings_of: SettingsRole::Login,
        config_asked: Arc::default(),
        shared: Arc::new(Shared {
            snapshot: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Awake),
            last_used: AtomicU64::new(0),
        }),
        orders,
        started: Instant::now(),
        stop: CancellationToken::new(),
        retry_in: FIRST_RETRY,
    };
    (task, sender)
}

fn order(why: Why) -> (Order, oneshot::Receiver<()>) {
    let (done, is_done) = oneshot::channel();
    (Order { why, _done: done }, is_done)
}

fn has_loaded(task: &Task) -> bool {
    *task.shared.state.borrow() == State::Failing
}

fn notification(payload: &str) -> Heard {
    Heard::Notification {
        channel: "pgrst".to_owned(),
        payload: payload.to_owned(),
    }
}

#[test]
fn three_payloads_ask_for_a_load() {
    for payload in ["", "reload schema", "reload config"] {
        assert!(is_reload(payload), "{payload}");
    }
    for payload in ["reload", "RELOAD SCHEMA", " reload schema", "anything"] {
        assert!(!is_reload(payload), "{payload}");
    }
}

#[tokio::test]
async fn a_burst_of_notifications_makes_one_more_load_at_its_end() {
    let (mut task, _orders) = task();
    let (sender, mut heard) = mpsc::channel(16);
    for payload in ["reload schema", "anything", "", "reload schema"] {
        sender.send(notification(payload)).await.expect("room");
    }
    let started = Instant::now();

    task.coalesce(&mut heard).await;

    assert!(has_loaded(&task));
    assert!(started.elapsed() >= COOL_DOWN);
    assert!(heard.is_empty(), "all of them were heard");
}

#[tokio::test]
async fn words_to_others_make_no_load() {
    let (mut task, _orders) = task();
    let (sender, mut heard) = mpsc::channel(16);
    sender.send(notification("anything")).await.expect("room");

    task.coalesce(&mut heard).await;

    assert!(!has_loaded(&task));
}

#[tokio::test]
async fn whoever_orders_a_load_does_not_wait_for_the_burst_to_end() {
    let (mut task, orders) = task();
    let (_sender, mut heard) = mpsc::channel(16);
    let newer = base();
    let (order, is_done) = order(Why::Asked(newer.clone()));
    orders.send(order).expect("the task is there");

    task.coalesce(&mut heard).await;

    assert!(has_loaded(&task));
    assert!(Arc::ptr_eq(&task.base, &newer));
    is_done.await.expect_err("told by letting go");
}

#[tokio::test]
async fn one_load_is_for_everybody_who_ordered_one_before() {
    let (mut task, orders) = task();
    let newer = base();
    let whys = [
        Why::OutOfDate(base()),
        Why::Asked(newer.clone()),
        Why::Suspicion,
    ];
    let waiting = whys.map(|why| {
        let (order, is_done) = order(why);
        orders.send(order).expect("the task is there");
        is_done
    });

    task.load_for(None).await;

    assert!(has_loaded(&task));
    assert!(Arc::ptr_eq(&task.base, &newer), "the last settings count");
    assert!(task.orders.is_empty());
    for is_done in waiting {
        is_done.await.expect_err("told by letting go");
    }
}

#[tokio::test]
async fn a_listener_that_came_back_may_have_missed_something() {
    let (mut task, _orders) = task();
    let (sender, mut heard) = mpsc::channel(16);
    sender.send(Heard::Connected).await.expect("room");

    task.coalesce(&mut heard).await;

    assert!(has_loaded(&task));
}

#[tokio::test]
async fn only_a_call_for_settings_has_them_read_again() {
    let (task, _orders) = task();

    assert!(task.asks_for_load(&notification("reload schema")));
    let asked = tokio::time::timeout(Duration::ZERO, task.config_asked.notified());
    asked.await.expect_err("nobody spoke of settings");

    assert!(task.asks_for_load(&notification("reload config")));
    task.config_asked.notified().await;
}

#[test]
fn a_project_that_nobody_asks_for_is_idle() {
    let (mut task, _orders) = task();
    assert!(!task.is_idle(), "it has just begun");
    let Some(long_ago) = Instant::now().checked_sub(IDLE) else {
        return;
    };
    task.started = long_ago;
    assert!(task.is_idle());
    let now = long_ago.elapsed().as_millis() as u64;
    task.shared.last_used.store(now, Ordering::Relaxed);
    assert!(!task.is_idle(), "somebody has just asked");
}

#[tokio::test]
async fn without_a_first_load_there_is_nothing_to_serve_from() {
    let base = base();
    let keeper = Keeper::start(
        &unreachable(),
        base.clone(),
        SettingsRole::Login,
        Arc::default(),
    );

    let refusal = keeper.snapshot(&base).await.err().expect("a refusal");

    assert!(matches!(refusal, RestError::NoSchemaCache), "{refusal}");
    assert!(keeper.current().is_none());
}

#[test]
fn search_paths_are_quoted() {
    use plinth_project::FromSettings;

    let settings = plinth_settings::Loader::new().load().expect("defaults");
    let mut config = RestConfig::from_settings(&settings.settings);
    config.schemas = vec!["my, schema".to_owned()];
    config.extra_search_path = vec!["public".to_owned(), "odd\"one".to_owned()];

    let paths = search_paths(&config);

    assert_eq!(paths["my, schema"], r#""my, schema", "public", "odd""one""#);
}
