//! Where naive implementations diverge (rest contract §11).

use serde_json::json;

use crate::support::{Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn values_arrive_as_postgres_wrote_them() {
    let api = TestApi::library().await;

    let reply = api.get("/kinds").await;

    let expected = concat!(
        r#"[{"id":1,"big":9223372036854775807,"num":1.10,"float8":"NaN","bytes":"\\x00ff","#,
        r#""moment":"2024-01-02T03:04:05","instant":"2024-01-02T03:04:05+00:00","#,
        r#""span":"1 day 02:00:00","amount":"$12.50","words":"'a':1 'b':2","#,
        r#""plain":{"b": 1, "a": 2,  "a": 3},"tree":{"a": 2, "b": 1},"flag":true,"#,
        r#""key":"11111111-1111-4111-8111-111111111111","numbers":[1,null,3]}]"#,
    );
    assert_eq!(reply.text(), expected);
}

#[tokio::test]
async fn a_missing_row_is_null_and_a_row_of_nulls_is_an_object() {
    let api = TestApi::library().await;

    let reply = api
        .get("/authors?select=id,author_bios(bio),portraits(id)&order=id")
        .await;

    reply.expect_json(
        200,
        json!([
            { "id": 1, "author_bios": { "bio": null }, "portraits": [{ "id": 1 }] },
            { "id": 2, "author_bios": null, "portraits": [] },
            { "id": 3, "author_bios": null, "portraits": [] },
        ]),
    );
    let exists = api
        .get("/authors?select=id,author_bios(bio)&author_bios=not.is.null")
        .await;
    exists.expect_json(200, json!([{ "id": 1, "author_bios": { "bio": null } }]));
    let absent = api
        .get("/authors?select=id,author_bios()&author_bios=is.null&order=id")
        .await;
    absent.expect_json(200, json!([{ "id": 2 }, { "id": 3 }]));
}

#[tokio::test]
async fn a_plus_is_a_space_in_queries_and_a_plus_in_paths() {
    let api = TestApi::library().await;

    let space = api.get("/Straße №1?select=order&two+words=eq.space").await;
    let plus = api.get("/books?title=eq.a%2Bb").await;
    let path = api.get("/two+words").await;
    let percent = api.get("/books?select=id&title=like.%an%").await;

    space.expect_json(200, json!([{ "order": 5 }]));
    plus.expect_json(200, json!([]));
    let message = "Could not find the table 'library.two+words' in the schema cache";
    path.expect_error(404, "PGRST205", message);
    percent.expect_json(200, json!([{ "id": 3 }]));
}

#[tokio::test]
async fn values_are_taken_to_the_letter() {
    let api = TestApi::library().await;
    let none = [
        "title=eq.\"Nana\"",
        "title=eq.null",
        "title=eq.",
        "title=eq.Nana*",
    ];

    for query in none {
        api.get(&format!("/books?{query}"))
            .await
            .expect_json(200, json!([]));
    }
    api.get("/books?select=id&isbn=neq.0001")
        .await
        .expect_json(200, json!([{ "id": 2 }]));
    api.get("/books?_=123")
        .await
        .expect_error_code(400, "PGRST100");
    let array = api.get("/books?select=id&tags=eq.{france}").await;
    array.expect_json(200, json!([{ "id": 2 }]));
}

#[tokio::test]
async fn lists_of_thousands_of_values_are_taken() {
    let api = TestApi::library().await;
    let ids: Vec<String> = (1..=12_000).map(|id: i32| id.to_string()).collect();
    let path = format!("/numbers?select=n&n=in.({})", ids.join(","));
    assert!(path.len() > 57_000);

    let reply = api.get(&path).prefer("count=exact").await;

    reply.expect_header("content-range", "0-499/500");
}

#[tokio::test]
async fn a_null_character_is_rejected_and_not_fatal() {
    let api = TestApi::library().await;

    let value = api.get("/books?title=eq.a%00b").await;
    let body = api.post("/books", json!({ "title": "a\u{0}b" })).await;
    let name = api.get("/books?select=title%00x").await;

    value.expect_error_code(400, "22021");
    assert_eq!(body.status, 400);
    assert!(name.status.is_client_error(), "{name:#?}");
}

#[tokio::test]
async fn embeds_filter_order_and_limit_within_their_parent() {
    let api = TestApi::library().await;
    let authors = async |query: &str| {
        let path = format!("/authors?select=name,books(title)&order=id&id=lt.3&{query}");
        api.get(&path).await.json()
    };
    let both = |ada: &[&str], emile: &[&str]| {
        let books = |titles: &[&str]| {
            titles
                .iter()
                .map(|title| json!({ "title": title }))
                .collect()
        };
        let (ada, emile): (Vec<_>, Vec<_>) = (books(ada), books(emile));
        json!([{ "name": "Ada", "books": ada }, { "name": "Émile", "books": emile }])
    };

    let filtered = authors("books.title=eq.Nana").await;
    let ordered = authors("books.order=title.desc").await;
    let limited = authors("books.limit=1&books.order=title").await;
    let shifted = authors("books.offset=1&books.order=title").await;
    let either = authors("books.or=(title.eq.Nana,title.eq.Engines)").await;

    assert_eq!(filtered, both(&[], &["Nana"]), "parents stay");
    assert_eq!(ordered, both(&["Engines"], &["Nana", "Germinal"]));
    assert_eq!(limited, both(&["Engines"], &["Germinal"]), "per parent");
    assert_eq!(shifted, both(&[], &["Nana"]));
    assert_eq!(either, both(&["Engines"], &["Nana"]));
}

#[tokio::test]
async fn counts_follow_inner_embeds_and_null_tests() {
    let api = TestApi::library().await;
    let cases = [
        ("select=id,books!inner(id)", "0-0/2"),
        ("select=id,books!inner(id)&books.title=eq.Nana", "0-0/1"),
        ("select=id,books()&books=is.null", "0-0/1"),
        (
            "select=id,books(),portraits()&or=(books.is.null,portraits.not.is.null)",
            "0-0/2",
        ),
        (
            "select=id,books!inner(copies!inner(shelf))&books.copies.shelf=eq.A",
            "0-0/1",
        ),
    ];

    for (query, range) in cases {
        let reply = api
            .get(&format!("/authors?{query}&limit=1"))
            .prefer("count=exact")
            .await;
        reply.expect_header("content-range", range);
    }
}

#[tokio::test]
async fn relationships_are_found_by_table_column_or_constraint() {
    let api = TestApi::library().await;
    let ada = json!({ "name": "Ada" });

    for (target, key) in [
        ("authors(name)", "authors"),
        ("author_id(name)", "author_id"),
        ("books_author_id_fkey(name)", "books_author_id_fkey"),
        ("by:authors!author_id(name)", "by"),
        ("by:authors!books_author_id_fkey!inner(name)", "by"),
        ("by:authors!inner!author_id(name)", "by"),
    ] {
        let reply = api.get(&format!("/books?id=eq.1&select={target}")).await;
        reply.expect_json(200, json!([{ key: ada }]));
    }
    let composite = api
        .get("/loans?id=eq.1&select=copies(shelf,books(title))")
        .await;
    composite.expect_json(
        200,
        json!([{ "copies": { "shelf": "A", "books": { "title": "Engines" } } }]),
    );
}

#[tokio::test]
async fn spreads_lift_columns_and_correlate_lists() {
    let api = TestApi::library().await;

    let to_one = api
        .get("/books?select=title,...authors(by:name,born)&order=id&limit=1")
        .await;
    let missing = api
        .get("/books?id=eq.4&select=title,...authors(name)")
        .await;
    let to_many = api
        .get("/authors?select=name,...books(titles:title,prices:price)&books.order=title.desc&order=id")
        .await;

    to_one.expect_json(
        200,
        json!([{ "title": "Engines", "by": "Ada", "born": 1815 }]),
    );
    missing.expect_json(200, json!([{ "title": "Edda", "name": null }]));
    to_many.expect_json(
        200,
        json!([
            { "name": "Ada", "titles": ["Engines"], "prices": [10.10] },
            { "name": "Émile", "titles": ["Nana", "Germinal"], "prices": [null, 7.00] },
            { "name": "Nobody", "titles": [], "prices": [] },
        ]),
    );
}

#[tokio::test]
async fn empty_embeds_leave_no_trace() {
    let api = TestApi::library().await;

    let empty = api
        .get("/books?select=id,authors!inner()&authors.name=eq.Ada")
        .await;
    let nested = api.get("/authors?id=eq.1&select=id,books(copies())").await;
    let nothing = api.get("/books?select=&id=eq.3").await;

    empty.expect_json(200, json!([{ "id": 1 }]));
    nested.expect_json(200, json!([{ "id": 1 }]));
    assert_eq!(
        nothing.json()[0]["title"],
        "Nana",
        "an empty select means all"
    );
}

#[tokio::test]
async fn a_list_of_thousands_has_response_headers_that_clients_can_read() {
    let api = TestApi::library().await;
    let ids: Vec<String> = (0..5000).map(|id| id.to_string()).collect();

    let few = api.get("/authors?id=in.(1,2)").await;
    let many = api
        .get(&format!("/authors?id=in.({})", ids.join(",")))
        .await;

    few.expect_header("content-location", "/authors?id=in.%281%2C2%29");
    assert_eq!(many.status, 200);
    many.expect_no_header("content-location");
}
