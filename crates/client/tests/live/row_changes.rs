//! Rows that change, under row level security.

use futures_util::TryStreamExt;
use plinth_client::realtime::{
    Change, ChangeKind, Changes, Channel, Event, RealtimeOptions, Vsn, pg,
};
use plinth_client::{Client, RealtimeError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Live, PASSWORD, TEST_TIMEOUT, next};

/// Beside `todos`, of which everybody sees their own: values of many types, for all to see.
const SCHEMA: &str = "
    create table public.samples (
        id bigint primary key,
        big bigint,
        exact numeric,
        at timestamptz,
        doc jsonb,
        words text[],
        raw bytea
    );
    grant select on public.samples to anon, authenticated;
    alter publication supabase_realtime add table public.todos, public.samples;
";

#[derive(Debug, Deserialize, PartialEq)]
struct Todo {
    id: i64,
    title: String,
    tags: Vec<String>,
    is_done: bool,
}

async fn start() -> Live {
    let live = Live::start().await;
    execute(&live, SCHEMA).await;
    live
}

async fn execute(live: &Live, sql: &str) {
    let done = live.db.admin().await.batch_execute(sql).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
}

fn todos(channel: &Channel) -> Changes<Todo> {
    let changes = channel.on_postgres(Event::All);
    let changes = changes.schema("public").table("todos").listen();
    changes.expect("a stream")
}

/// Subscribes, and waits until row changes arrive.
async fn subscribe(channel: &Channel) {
    let mut system = channel.on_system();
    channel.subscribe().await.expect("a subscription");
    let said = next(&mut system).await;
    assert!(said.is_ok(), "{said:?}");
    assert_eq!(said.extension, "postgres_changes");
}

async fn add(client: &Client, title: &str) {
    let row = json!({ "title": title, "tags": ["a", "b c"] });
    let added = client.from("todos").insert(&row).execute().await;
    added.expect("a row");
}

fn title(change: &Change<Todo>) -> Option<&str> {
    change.new.as_ref().map(|todo| todo.title.as_str())
}

#[tokio::test]
async fn users_receive_changes_of_their_own_rows_as_their_type() {
    let live = start().await;
    let (ada, eve) = (
        live.signed_up("ada@example.com").await,
        live.signed_up("eve@example.com").await,
    );
    let channels = [&ada, &eve].map(|client| client.channel("todos").build().unwrap());
    let [mut to_ada, mut to_eve] = channels.each_ref().map(todos);
    for channel in &channels {
        subscribe(channel).await;
    }

    add(&ada, "write").await;
    let inserted = next(&mut to_ada).await;
    assert_eq!(inserted.kind, ChangeKind::Insert);
    assert_eq!(
        (inserted.schema.as_str(), inserted.table.as_str()),
        ("public", "todos")
    );
    let todo = inserted.new.expect("the row");
    assert_eq!((todo.title.as_str(), todo.is_done), ("write", false));
    assert_eq!(todo.tags, ["a", "b c"]);
    assert!(inserted.old.is_empty() && inserted.errors.is_empty());
    assert!(inserted.commit_timestamp.is_some());

    let done = json!({ "is_done": true });
    let done = ada.from("todos").update(&done).eq("id", todo.id);
    done.execute().await.unwrap();
    let updated = next(&mut to_ada).await;
    assert_eq!(updated.kind, ChangeKind::Update);
    assert!(updated.new.as_ref().is_some_and(|todo| todo.is_done));
    assert_eq!(Value::Object(updated.old), json!({ "id": todo.id }));

    ada.from("todos")
        .delete()
        .eq("id", todo.id)
        .execute()
        .await
        .unwrap();
    // Deletes are delivered to all subscribers, with the key only.
    for changes in [&mut to_ada, &mut to_eve] {
        let deleted = next(changes).await;
        assert_eq!((deleted.kind, deleted.new), (ChangeKind::Delete, None));
        assert_eq!(Value::Object(deleted.old), json!({ "id": todo.id }));
    }
    add(&eve, "spy").await;
    assert_eq!(title(&next(&mut to_eve).await), Some("spy"));
}

#[tokio::test]
async fn events_filters_and_columns_are_chosen_in_both_versions() {
    let live = start().await;
    for vsn in [Vsn::V1, Vsn::V2] {
        let client = live.client_talking(RealtimeOptions::new().vsn(vsn));
        let channel = client.channel("samples").build().unwrap();
        let samples = |event| channel.on_postgres(event).schema("public").table("samples");
        let mut some = samples(Event::Insert)
            .filter(pg::gte("id", 2).and(pg::in_("id", [3, 4, 9]).not()))
            .select(["big"])
            .listen::<Value>()
            .unwrap();
        let mut gone = samples(Event::Delete).listen::<Value>().unwrap();
        let mut whole = samples(Event::Insert)
            .filter(pg::eq("id", 4))
            .listen::<Value>()
            .unwrap();
        subscribe(&channel).await;

        execute(
            &live,
            "insert into samples (id, big) select n, n * 10 from generate_series(1, 5) n;
             update samples set big = 0;
             delete from samples where id = 1;
             delete from samples",
        )
        .await;

        for id in [2, 5] {
            let change = next(&mut some).await;
            assert_eq!(change.new, Some(json!({ "id": id, "big": id * 10 })));
        }
        let row = next(&mut whole).await.new.expect("a row");
        assert_eq!((&row["id"], &row["big"]), (&json!(4), &json!(40)));
        assert_eq!(row.as_object().map(|row| row.len()), Some(7));
        assert_eq!(Value::Object(next(&mut gone).await.old), json!({ "id": 1 }));
    }
}

#[tokio::test]
async fn values_of_all_types_arrive_as_json() {
    let live = start().await;
    let channel = live.client().channel("samples").build().unwrap();
    let changes = channel.on_postgres(Event::Insert).schema("public");
    let mut changes = changes.table("samples").listen::<Value>().unwrap();
    subscribe(&channel).await;

    execute(
        &live,
        "insert into samples values (1, 9007199254740993, 1.50, '2026-01-02 03:04:05+00',
             '{\"a\": [1, null]}', array['x', 'y, z'], '\\x00ff')",
    )
    .await;

    let row = next(&mut changes).await.new.expect("a row");
    let at = row["at"].as_str().expect("a time");
    assert!(at.starts_with("2026-01-02T03:04:05"), "{at}");
    assert_eq!(row["big"], json!(9_007_199_254_740_993_i64));
    assert_eq!(row["exact"].as_f64(), Some(1.5));
    assert_eq!(row["doc"], json!({ "a": [1, null] }));
    assert_eq!(row["words"], json!(["x", "y, z"]));
    assert_eq!(row["raw"], "00ff");
}

#[tokio::test]
async fn a_live_stream_of_changes_follows_a_sign_in() {
    let live = start().await;
    let ada = live.signed_up("ada@example.com").await;
    let client = live.client();
    let channel = client.channel("todos").build().unwrap();
    let mut changes = todos(&channel);
    let samples = channel.on_postgres(Event::Insert).schema("public");
    let mut samples = samples.table("samples").listen::<Value>().unwrap();
    subscribe(&channel).await;
    add(&ada, "unseen").await;
    // Changes arrive in order: once this one is here, the policies of the first have been checked.
    execute(&live, "insert into samples (id) values (1)").await;
    next(&mut samples).await;

    let mut system = channel.on_system();
    let sign_in = client.auth().sign_in_with_password();
    let sign_in = sign_in.email("ada@example.com").password(PASSWORD);
    sign_in.send().await.unwrap();
    assert!(next(&mut system).await.is_ok(), "subscribed anew");
    add(&ada, "seen").await;

    assert_eq!(title(&next(&mut changes).await), Some("seen"));
}

#[tokio::test]
async fn rows_that_are_not_of_the_type_fail_alone() {
    #[derive(Debug, Deserialize)]
    struct Strict {
        big: i64,
    }
    let live = start().await;
    let channel = live.client().channel("samples").build().unwrap();
    let changes = channel.on_postgres(Event::Insert).schema("public");
    let mut changes = changes.table("samples").listen::<Strict>().unwrap();
    subscribe(&channel).await;

    execute(
        &live,
        "insert into samples (id, big) values (1, null), (2, 7)",
    )
    .await;

    let unreadable = tokio::time::timeout(TEST_TIMEOUT, changes.try_next()).await;
    let unreadable = unreadable.expect("something arrives in time");
    assert!(
        matches!(unreadable, Err(RealtimeError::Unreadable(_))),
        "{unreadable:?}"
    );
    assert_eq!(next(&mut changes).await.new.map(|row| row.big), Some(7));
}

#[tokio::test]
async fn messages_sent_by_sql_arrive_beside_row_changes() {
    let live = start().await;
    let channel = live.client().channel("room").build().unwrap();
    let mut said = channel.on_broadcast("*");
    let changes = channel.on_postgres(Event::All).schema("public");
    let mut changes = changes.table("samples").listen::<Value>().unwrap();
    subscribe(&channel).await;

    execute(
        &live,
        "select realtime.send('{\"n\": 1}', 'news', 'room', false);
         insert into samples (id) values (1)",
    )
    .await;

    let broadcast = next(&mut said).await;
    assert_eq!(broadcast.event, "news");
    assert!(!broadcast.is_replayed());
    assert!(
        broadcast
            .meta
            .as_ref()
            .is_some_and(|meta| meta.id.is_some())
    );
    assert_eq!(broadcast.json::<Value>().unwrap()["n"], 1);
    assert_eq!(next(&mut changes).await.new.expect("a row")["id"], 1);
}
