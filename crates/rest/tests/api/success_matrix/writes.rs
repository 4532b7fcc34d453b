use serde_json::{Value, json};

use crate::support::{JSON, Reply, Requests, RestCall, RestReply, TestApi};

const MINIMAL: [Option<&str>; 2] = [None, Some("return=minimal")];

fn row(id: i64) -> Value {
    json!({ "id": id, "c": "new" })
}

#[tokio::test]
async fn the_response_to_an_insert_depends_on_the_return_preference() {
    let api = TestApi::own_library().await;
    let empty = [("content-length", "0"), ("content-range", "*/*")];

    for (id, prefer) in MINIMAL.into_iter().enumerate() {
        let call = api.post("/with_defaults", row(id as i64));
        let applied = prefer.map(|prefer| ("preference-applied", prefer));
        let headers: Vec<_> = empty.into_iter().chain(applied).collect();

        match prefer {
            Some(prefer) => call.prefer(prefer),
            None => call,
        }
        .await
        .expect_whole(201, &headers, "");
    }

    let located = api
        .post("/with_defaults", row(10))
        .prefer("return=headers-only")
        .await;
    let applied = ("preference-applied", "return=headers-only");
    let location = ("location", "/with_defaults?id=eq.10");
    located.expect_whole(201, &[empty[0], empty[1], applied, location], "");

    let several = api.post("/with_defaults", json!([row(11), row(12)]));
    let several = several.prefer("return=headers-only, count=exact").await;
    let applied = ("preference-applied", "return=headers-only, count=exact");
    several.expect_whole(201, &[empty[0], ("content-range", "*/2"), applied], "");

    let shown = api.post("/with_defaults?select=id,a", row(13));
    let shown = shown.prefer("return=representation").await;
    let applied = ("preference-applied", "return=representation");
    let headers = [("content-type", JSON), ("content-range", "*/*"), applied];
    shown.expect_whole(201, &headers, "[{\"id\":13,\"a\":5}]");
}

#[tokio::test]
async fn a_location_names_every_column_of_the_key() {
    let api = TestApi::own_library().await;

    let composite = api
        .post("/copies", json!({ "book_id": 4, "copy_no": 1 }))
        .prefer("return=headers-only")
        .await;
    let unicode = api
        .post("/Straße №1", json!({ "Größe": 7 }))
        .prefer("return=headers-only")
        .await;
    let keyless = api
        .post("/visits", json!({ "day": "2024-02-02" }))
        .prefer("return=headers-only")
        .await;

    composite.expect_header("location", "/copies?book_id=eq.4&copy_no=eq.1");
    let location = unicode.headers.get("location").expect("a location");
    assert_eq!(location, "/Straße №1?Gr%C3%B6%C3%9Fe=eq.7".as_bytes());
    keyless.expect_no_header("location");
}

#[tokio::test]
async fn a_merge_of_old_rows_only_makes_nothing() {
    let api = TestApi::own_library().await;
    api.post("/with_defaults", row(1)).await;
    let send = async |prefer: &str, body: Value| {
        api.post("/with_defaults", body)
            .prefer(prefer)
            .prefer("count=exact")
            .await
    };

    let old = send("resolution=merge-duplicates", row(1)).await;
    let nothing = send("resolution=merge-duplicates", json!([])).await;
    let new = send("resolution=merge-duplicates", json!([row(1), row(2)])).await;
    let ignored = send("resolution=ignore-duplicates", json!([row(1), row(3)])).await;

    let check = |reply: &Reply, status, range, applied: &str| {
        let applied = format!("{applied}, count=exact");
        let headers = [
            ("content-length", "0"),
            ("content-range", range),
            ("preference-applied", applied.as_str()),
        ];
        reply.expect_whole(status, &headers, "");
    };
    check(&old, 200, "*/1", "resolution=merge-duplicates");
    check(&nothing, 200, "*/0", "resolution=merge-duplicates");
    check(&new, 201, "*/2", "resolution=merge-duplicates");
    check(&ignored, 201, "*/1", "resolution=ignore-duplicates");
}

#[tokio::test]
async fn the_response_to_an_update_depends_on_the_return_preference() {
    let api = TestApi::own_library().await;
    let patch = |path: &str| api.patch(path, json!({ "born": 1 }));

    for prefer in ["", "return=minimal", "return=headers-only"] {
        let reply = match prefer {
            "" => patch("/authors?id=lt.3").await,
            prefer => patch("/authors?id=lt.3").prefer(prefer).await,
        };
        let applied = (!prefer.is_empty()).then_some(("preference-applied", prefer));
        let headers: Vec<_> = [("content-range", "0-1/*")]
            .into_iter()
            .chain(applied)
            .collect();
        reply
            .expect_whole(204, &headers, "")
            .expect_no_header("content-length");
    }

    let counted = patch("/authors?id=lt.3").prefer("count=exact").await;
    let applied = ("preference-applied", "count=exact");
    counted.expect_whole(204, &[("content-range", "0-1/2"), applied], "");
    let none = patch("/authors?id=lt.0").prefer("count=exact").await;
    none.expect_whole(204, &[("content-range", "*/0"), applied], "");
    let planned = patch("/authors?id=lt.3").prefer("count=planned").await;
    planned.expect_whole(
        204,
        &[
            ("content-range", "0-1/*"),
            ("preference-applied", "count=planned"),
        ],
        "",
    );

    let shown = patch("/authors?id=lt.3&select=id&order=id.desc");
    let shown = shown.prefer("return=representation").await;
    let applied = ("preference-applied", "return=representation");
    let headers = [("content-type", JSON), ("content-range", "0-1/*"), applied];
    shown.expect_whole_json(200, &headers, json!([{ "id": 2 }, { "id": 1 }]));
}

#[tokio::test]
async fn a_put_has_no_range_and_distinguishes_insert_from_update() {
    let api = TestApi::own_library().await;
    let put = |copy: i64| {
        let path = format!("/copies?book_id=eq.1&copy_no=eq.{copy}");
        api.put(
            &path,
            json!({ "book_id": 1, "copy_no": copy, "shelf": "Z" }),
        )
    };

    let minimal = put(1).await;
    let updated = put(1).prefer("return=representation").await;
    let inserted = put(9).prefer("return=representation").await;

    minimal
        .expect_whole(204, &[], "")
        .expect_no_header("content-length")
        .expect_no_header("content-range");
    let headers = [
        ("content-type", JSON),
        ("preference-applied", "return=representation"),
    ];
    let body = |copy: i64| json!([{ "book_id": 1, "copy_no": copy, "shelf": "Z" }]);
    updated.expect_whole_json(200, &headers, body(1));
    inserted.expect_whole_json(201, &headers, body(9));
}

#[tokio::test]
async fn the_response_to_a_delete_depends_on_the_return_preference() {
    let api = TestApi::own_library().await;

    let minimal = api.delete("/loans?id=eq.1").await;
    let counted = api.delete("/loans?id=eq.2").prefer("count=exact").await;
    let shown = api
        .delete("/loans?id=eq.3&select=id")
        .prefer("return=representation")
        .await;
    let none = api
        .delete("/loans?id=eq.3")
        .prefer("return=representation")
        .await;

    minimal
        .expect_whole(204, &[("content-range", "*/*")], "")
        .expect_no_header("content-length");
    counted.expect_whole(
        204,
        &[
            ("content-range", "*/1"),
            ("preference-applied", "count=exact"),
        ],
        "",
    );
    let applied = ("preference-applied", "return=representation");
    let headers = [("content-type", JSON), ("content-range", "*/*"), applied];
    shown.expect_whole(200, &headers, "[{\"id\":3}]");
    none.expect_whole(200, &headers, "[]");
}
