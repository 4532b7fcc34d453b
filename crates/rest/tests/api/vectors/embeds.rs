use serde_json::{Value, json};

use crate::support::{Requests, RestCall, RestReply, TestApi};

/// Vector 7.
#[tokio::test]
async fn rows_of_an_embed_are_counted_without_aggregates_enabled() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/users?select=username,messages(count)&order=username")
        .await;

    let counted =
        |name: &str, count: i64| json!({ "username": name, "messages": [{ "count": count }] });
    let counts = [
        ("a,b", 0),
        ("alice", 1),
        ("bob", 1),
        ("c", 0),
        ("supabot", 4),
    ];
    reply.expect_json(
        200,
        counts
            .map(|(name, count)| counted(name, count))
            .into_iter()
            .collect(),
    );
}

/// Vector 8.
#[tokio::test]
async fn several_relationships_are_distinguished_by_the_client() {
    let api = TestApi::chat().await;

    let reply = api.get("/best_friends?select=first_user:users(*)").await;

    let candidate = |column: &str| {
        json!({
            "cardinality": "many-to-one",
            "embedding": "best_friends with users",
            "relationship":
                format!("best_friends_{column}_fkey using best_friends({column}) and users(username)"),
        })
    };
    let details = ["first_user", "second_user", "third_wheel"].map(candidate);
    let message = "Could not embed because more than one relationship was found for 'best_friends' and 'users'";
    let hint = "Try changing 'users' to one of the following: \
                'users!best_friends_first_user_fkey', 'users!best_friends_second_user_fkey', \
                'users!best_friends_third_wheel_fkey'. \
                Find the desired relationship in the 'details' key.";
    reply.expect_error_with(300, "PGRST201", message, json!(details), json!(hint));
}

/// Vector 9.
#[tokio::test]
async fn the_same_table_twice_needs_two_aliases() {
    let api = TestApi::chat().await;

    let clash = api
        .get("/best_friends?select=users!first_user(*),users!second_user(*)")
        .await;
    let apart = api
        .get("/best_friends?id=eq.1&select=one:users!first_user(username),two:users!second_user(username)")
        .await;

    let message = "table name \"best_friends_users_1\" specified more than once";
    clash.expect_error(400, "42712", message);
    apart.expect_json(
        200,
        json!([{ "one": { "username": "supabot" }, "two": { "username": "alice" } }]),
    );
}

/// Vector 10.
#[tokio::test]
async fn a_table_embeds_itself_by_column_and_not_by_constraint() {
    let api = TestApi::chat().await;

    let children = api
        .get("/collections?id=eq.1&select=id,collections!parent_id(id)")
        .await;
    let parent = api
        .get("/collections?id=eq.2&select=id,parent_id(id)")
        .await;
    let by_constraint = api
        .get("/collections?select=*,collections!collections_parent_id_fkey(*)")
        .await;

    children.expect_json(
        200,
        json!([{ "id": 1, "collections": [{ "id": 2 }, { "id": 3 }] }]),
    );
    parent.expect_json(200, json!([{ "id": 2, "parent_id": { "id": 1 } }]));
    let message =
        "Could not find a relationship between 'collections' and 'collections' in the schema cache";
    let details = "Searched for a foreign key relationship between 'collections' and 'collections' \
                   using the hint 'collections_parent_id_fkey' in the schema 'public', \
                   but no matches were found.";
    by_constraint.expect_error_with(400, "PGRST200", message, json!(details), Value::Null);
}

/// Vector 11.
#[tokio::test]
async fn many_to_many_gives_an_array_on_both_sides() {
    let api = TestApi::chat().await;

    let products = api
        .get("/products?select=name,categories(name)&categories.order=id")
        .await;
    let categories = api.get("/categories?id=eq.2&select=products(name)").await;

    products.expect_json(
        200,
        json!([
            { "name": "Laptop", "categories": [{ "name": "Electronics" }, { "name": "Computers" }] },
            { "name": "Phone", "categories": [{ "name": "Electronics" }] },
            { "name": "Nothing", "categories": [] },
        ]),
    );
    categories.expect_json(200, json!([{ "products": [{ "name": "Laptop" }] }]));
}

/// Vector 12.
#[tokio::test]
async fn one_to_one_gives_an_object_or_null() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/channels?select=id,channel_details(details)&order=id")
        .await;

    reply.expect_json(
        200,
        json!([
            { "id": 1, "channel_details": { "details": "Details for public" } },
            { "id": 2, "channel_details": { "details": "Details for random" } },
            { "id": 3, "channel_details": null },
        ]),
    );
}

/// Vector 13.
#[tokio::test]
async fn an_inner_embed_filters_parents_and_their_count() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/messages?select=id,users!inner(username)&users.status=eq.ONLINE&order=id&limit=4")
        .prefer("count=exact")
        .await;

    let user = |id: i64| json!({ "id": id, "users": { "username": "supabot" } });
    reply.expect_json(206, [1, 2, 3, 4].map(user).into_iter().collect());
    reply.expect_header("content-range", "0-3/5");
}

/// Vector 14.
#[tokio::test]
async fn parents_are_ordered_by_a_to_one_embed() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/messages?select=id,users(username)&order=users(username).desc,id.desc&limit=5")
        .await;

    let row = |(id, name): (i64, &str)| json!({ "id": id, "users": { "username": name } });
    let rows = [
        (4, "supabot"),
        (3, "supabot"),
        (2, "supabot"),
        (1, "supabot"),
        (6, "bob"),
    ];
    reply.expect_json(200, rows.map(row).into_iter().collect());
}

/// The computed relationships of the fixture.
#[tokio::test]
async fn functions_over_rows_are_relationships() {
    let api = TestApi::chat().await;

    let of_channel = api
        .get("/channels?id=eq.2&select=slug,get_messages(id)")
        .await;
    let of_user = api
        .get("/users?username=eq.alice&select=get_messages(id)")
        .await;

    of_channel.expect_json(
        200,
        json!([{ "slug": "random", "get_messages": [{ "id": 2 }] }]),
    );
    of_user.expect_json(200, json!([{ "get_messages": [{ "id": 5 }] }]));
}
