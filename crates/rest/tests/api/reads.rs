//! Reads of all kinds of relations and columns.

use serde_json::json;

use crate::support::{Database, Requests, RestCall, RestReply, Sql, TestApi};

#[tokio::test]
async fn every_kind_of_relation_is_read() {
    let api = TestApi::library().await;

    let view = api.get("/book_titles?id=eq.1").await;
    let view_of_view = api
        .get("/book_titles_again?select=title,authors(name)&id=eq.1")
        .await;
    let materialized = api.get("/book_counts?author_id=eq.2").await;
    let partitioned = api.get("/visits?order=day&select=visitor").await;
    let partition = api.get("/visits_2024").await;
    let through_view = api
        .get("/authors?id=eq.1&select=name,book_titles_again(title)")
        .await;

    view.expect_json(
        200,
        json!([{ "id": 1, "title": "Engines", "author_id": 1 }]),
    );
    view_of_view.expect_json(
        200,
        json!([{ "title": "Engines", "authors": { "name": "Ada" } }]),
    );
    materialized.expect_json(200, json!([{ "author_id": 2, "books": 2 }]));
    partitioned.expect_json(200, json!([{ "visitor": "a" }, { "visitor": "b" }]));
    partition.expect_error_code(404, "PGRST205");
    through_view.expect_json(
        200,
        json!([{ "name": "Ada", "book_titles_again": [{ "title": "Engines" }] }]),
    );
}

#[tokio::test]
async fn odd_names_work_wherever_a_name_can_stand() {
    let api = TestApi::library().await;
    let table = "/Straße №1";
    let queries = [
        ("select=Größe", json!({ "Größe": 1 })),
        ("select=\"a.b\"&\"a.b\"=eq.dot", json!({ "a.b": "dot" })),
        (
            "select=order&order=order&and=(order.eq.5)",
            json!({ "order": 5 }),
        ),
        (
            "select=two words&two words=eq.space",
            json!({ "two words": "space" }),
        ),
        ("select=日本&日本=eq.unicode", json!({ "日本": "unicode" })),
        (
            "select=\"co,mma\"&\"co,mma\"=in.(comma)",
            json!({ "co,mma": "comma" }),
        ),
        (
            "select=\"qu\\\"ote\"&or=(\"qu\\\"ote\".eq.quote)",
            json!({ "qu\"ote": "quote" }),
        ),
        ("select=größe:Größe&order=Größe.desc", json!({ "größe": 1 })),
    ];

    for (query, row) in queries {
        let reply = api.get(&format!("{table}?{query}")).await;
        reply.expect_json(200, json!([row]));
    }
}

#[tokio::test]
async fn columns_may_be_named_like_our_own_aliases() {
    let api = TestApi::library().await;

    let reply = api.get("/aliases").await;
    let counted = api.get("/aliases?select=count").await;

    reply.expect_json(
        200,
        json!([{ "count": 1, "t": 2, "r": 3, "body": "four", "_plinth_r": 5 }]),
    );
    counted.expect_json(200, json!([{ "count": 1 }]));
}

#[tokio::test]
async fn fields_are_renamed_cast_and_looked_into() {
    let api = TestApi::library().await;
    let queries = [
        ("price::text", json!({ "price": "10.10" })),
        ("kind:genre", json!({ "kind": "essay" })),
        ("extra->shelf->>row", json!({ "row": "3" })),
        ("extra->shelf->row", json!({ "row": 3 })),
        ("extra->shelf->names->0", json!({ "names": "x" })),
        ("extra->shelf->names->>-1", json!({ "names": "y" })),
        ("tags->1", json!({ "tags": "old, rare" })),
        ("label", json!({ "label": "Engines #1" })),
        ("n:extra->shelf->>row::int", json!({ "n": 3 })),
    ];

    for (select, row) in queries {
        let reply = api.get(&format!("/books?id=eq.1&select={select}")).await;
        reply.expect_json(200, json!([row]));
    }
}

#[tokio::test]
async fn filters_compare_by_the_type_of_the_column() {
    let api = TestApi::library().await;
    let queries = [
        ("tags=cs.{math}", "1"),
        ("tags=cd.{france,italy}", "2,4"),
        ("tags=ov.{france,\"old, rare\"}", "1,2"),
        ("extra=cs.{\"shelf\":{\"row\":3}}", "1"),
        ("extra->shelf->row=eq.3", "1"),
        ("extra->shelf->>row=eq.3", "1"),
        ("price=gt.5", "1,2"),
        ("price=is.null", "3"),
        ("price=not.is.null", "1,2,4"),
        ("price=is.not_null", "1,2,4"),
        ("genre=in.(novel,poem)", "2,3,4"),
        ("genre=not.in.(novel,poem)", "1"),
        ("id=in.()", ""),
        ("isbn=isdistinct.0001", "2,3,4"),
        ("title=like.*na*", "2,3"),
        ("title=ilike(any).{e*,n*}", "1,3,4"),
        ("title=match.^[EG]", "1,2,4"),
        ("title=imatch.^n", "3"),
        ("id=gt(all).{1,2}", "3,4"),
        ("label=eq.Nana #3", "3"),
        ("title=fts(english).engine", "1"),
        ("not.or=(id.eq.1,genre.eq.novel)", "4"),
        ("and=(id.gt.1,or(genre.eq.poem,not.and(id.eq.2)))", "3,4"),
    ];

    for (query, ids) in queries {
        let reply = api.get(&format!("/books?select=id&order=id&{query}")).await;
        let rows = reply.json();
        let rows = rows.as_array().unwrap_or_else(|| panic!("{reply:#?}"));
        let found: Vec<String> = rows.iter().map(|row| row["id"].to_string()).collect();
        assert_eq!(found.join(","), ids, "{query}");
    }
}

#[tokio::test]
async fn nulls_are_sorted_where_requested() {
    let api = TestApi::library().await;
    let orders = [
        ("price", "4,2,1,3"),
        ("price.desc", "3,1,2,4"),
        ("price.nullsfirst", "3,4,2,1"),
        ("price.desc.nullslast", "1,2,4,3"),
        ("genre.asc,id.desc", "3,2,4,1"),
        ("extra->shelf->row.desc.nullslast,id", "1,2,3,4"),
        ("authors(name).nullsfirst,id", "4,1,2,3"),
    ];

    for (order, ids) in orders {
        let reply = api
            .get(&format!("/books?select=id,authors(name)&order={order}"))
            .await;
        let rows = reply.json();
        let rows = rows.as_array().unwrap_or_else(|| panic!("{reply:#?}"));
        let found: Vec<String> = rows.iter().map(|row| row["id"].to_string()).collect();
        assert_eq!(found.join(","), ids, "{order}");
    }
}

#[tokio::test]
async fn domains_are_shown_and_compared_in_their_own_way() {
    let api = TestApi::own_library().await;

    let read = api.get("/paints?select=id,shade&shade=eq.%230000ff").await;
    let listed = api
        .get("/paints?select=shade&shade=in.(%230000ff,%2300ff00)&order=id")
        .await;
    let written = api
        .post("/paints", json!({ "id": 9, "shade": "#00000a" }))
        .prefer("return=representation")
        .await;

    read.expect_json(200, json!([{ "id": 1, "shade": "#0000ff" }]));
    listed.expect_json(200, json!([{ "shade": "#0000ff" }, { "shade": "#00ff00" }]));
    written.expect_json(201, json!([{ "id": 9, "shade": "#00000a" }]));
    assert_eq!(
        api.db
            .count("select shade::bigint from library.paints where id = 9")
            .await,
        10
    );
}

#[tokio::test]
async fn aggregates_group_by_what_is_beside_them() {
    let settings = [("db-schemas", "library"), ("db-aggregates-enabled", "true")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let plain = api
        .get("/books?select=count(),top:price.max(),price.avg()::int")
        .await;
    let embedded = api
        .get("/authors?select=name,books(id.count(),price.sum())&order=id")
        .await;
    let spread = api
        .get("/books?select=...authors(name),count()&author_id=not.is.null&order=authors(name)")
        .await;

    plain.expect_json(200, json!([{ "count": 4, "top": 10.10, "avg": 7 }]));
    embedded.expect_json(
        200,
        json!([
            { "name": "Ada", "books": [{ "count": 1, "sum": 10.10 }] },
            { "name": "Émile", "books": [{ "count": 2, "sum": 7.00 }] },
            { "name": "Nobody", "books": [{ "count": 0, "sum": null }] },
        ]),
    );
    spread.expect_json(
        200,
        json!([{ "name": "Ada", "count": 1 }, { "name": "Émile", "count": 2 }]),
    );
}
