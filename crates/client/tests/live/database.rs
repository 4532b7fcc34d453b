//! Reading and writing as a user, under row level security.

use plinth_client::rest::{Count, Is};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::Live;

#[derive(Debug, PartialEq, Deserialize)]
struct Todo {
    title: String,
    is_done: bool,
}

#[derive(Serialize)]
struct NewTodo {
    title: String,
    tags: Vec<&'static str>,
}

#[tokio::test]
async fn users_see_their_own_rows_and_anonymous_callers_none() {
    let live = Live::start().await;
    let (ada, eve) = (
        live.signed_up("ada@example.com").await,
        live.signed_up("eve@example.com").await,
    );

    let added = ada
        .from("todos")
        .insert(&json!({ "title": "write" }))
        .returning("title,is_done");
    let todo = added.single().execute_as::<Todo>().await.unwrap();
    assert_eq!((todo.status, todo.data.title.as_str()), (201, "write"));

    let read = async |client: &plinth_client::Client| {
        let todos = client
            .from("todos")
            .select("title,is_done")
            .execute_as::<Vec<Todo>>()
            .await;
        todos.unwrap().data.len()
    };
    assert_eq!(read(&ada).await, 1);
    assert_eq!(read(&eve).await, 0);
    assert_eq!(read(&live.client()).await, 0);
}

#[tokio::test]
async fn rows_are_filtered_ordered_counted_changed_and_removed() {
    let live = Live::start().await;
    let ada = live.signed_up("ada@example.com").await;
    let rows = ["a", "b,c", "d \"e\"", "f(g)"].map(|title| NewTodo {
        title: title.to_owned(),
        tags: vec!["x", "two words"],
    });
    ada.from("todos").insert_many(rows).execute().await.unwrap();

    let odd = ada
        .from("todos")
        .select("title")
        .in_("title", ["b,c", "d \"e\"", "f(g)", "nope"]);
    let odd = odd
        .contains("tags", ["two words"])
        .order("title")
        .desc()
        .limit(2)
        .count(Count::Exact);
    let odd = odd.execute().await.unwrap();
    assert_eq!(
        odd.data,
        json!([{ "title": "f(g)" }, { "title": "d \"e\"" }])
    );
    assert_eq!((odd.count, odd.status), (Some(3), 206));

    let done = ada
        .from("todos")
        .update(&json!({ "is_done": true }))
        .eq("title", "a");
    let done = done
        .returning("title,is_done")
        .execute_as::<Vec<Todo>>()
        .await
        .unwrap();
    assert_eq!(
        done.data,
        [Todo {
            title: "a".to_owned(),
            is_done: true
        }]
    );

    let upsert = ada
        .from("todos")
        .upsert(&json!({ "title": "a", "is_done": false }));
    upsert.on_conflict("title").execute().await.unwrap();
    let none = ada
        .from("todos")
        .select("*")
        .is("is_done", Is::True)
        .maybe_single();
    assert_eq!(none.execute_as::<Option<Todo>>().await.unwrap().data, None);

    let removed = ada
        .from("todos")
        .delete()
        .neq("title", "a")
        .count(Count::Exact);
    assert_eq!(removed.execute().await.unwrap().count, Some(3));
    let csv = ada
        .from("todos")
        .select("title")
        .csv()
        .execute_as::<String>()
        .await
        .unwrap();
    assert_eq!(csv.data.trim(), "title\na");
}

#[tokio::test]
async fn functions_are_called_in_every_way() {
    let live = Live::start().await;
    let client = live.client();
    let args = json!({ "a": 1, "b": 2 });

    assert_eq!(
        client
            .rpc("add", &args)
            .execute_as::<i64>()
            .await
            .unwrap()
            .data,
        3
    );
    assert_eq!(
        client
            .rpc("add", &args)
            .get()
            .execute_as::<i64>()
            .await
            .unwrap()
            .data,
        3
    );
    assert_eq!(
        client
            .rpc("add", &args)
            .head()
            .execute()
            .await
            .unwrap()
            .status,
        200
    );
    assert_eq!(client.open_api().await.unwrap()["swagger"], "2.0");
}

#[tokio::test]
async fn mistakes_are_reported_with_their_code() {
    let live = Live::start().await;
    let ada = live.signed_up("ada@example.com").await;

    let missing = ada.from("nowhere").select("*").execute().await.unwrap_err();
    assert_eq!((missing.code.as_str(), missing.status), ("PGRST205", 404));
    let many = ada
        .from("todos")
        .select("*")
        .single()
        .execute()
        .await
        .unwrap_err();
    assert_eq!((many.code.as_str(), many.status), ("PGRST116", 406));
    let add = || {
        ada.from("todos")
            .insert(&json!({ "title": "same" }))
            .execute()
    };
    add().await.unwrap();
    assert_eq!(add().await.unwrap_err().code, "23505");
    let rejected = live
        .client()
        .from("todos")
        .insert(&json!({ "title": "x" }))
        .execute()
        .await;
    assert!(!rejected.unwrap_err().code.is_empty());
}
