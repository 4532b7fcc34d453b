use serde_json::{Value, json};

use crate::support::{JSON, Reply, Requests, RestCall, RestReply, TestApi};

#[track_caller]
fn names(reply: &Reply) -> Vec<String> {
    let rows = reply.json();
    let rows = rows.as_array().unwrap_or_else(|| panic!("{reply:#?}"));
    let name = |row: &Value| row["username"].as_str().expect("a name").to_owned();
    rows.iter().map(name).collect()
}

/// Vector 1.
#[tokio::test]
async fn all_users_come_with_range_and_vary() {
    let api = TestApi::chat().await;
    let range = ("content-range", "0-4/*");
    let location = ("content-location", "/users?select=%2A");
    let rows = json!([
        { "username": "supabot", "data": { "lang": "en" }, "age_range": "[1,2)",
          "status": "ONLINE", "catchphrase": "'cat':2 'fat':1" },
        { "username": "alice", "data": null, "age_range": "[25,35)",
          "status": "ONLINE", "catchphrase": "'bat':2 'cat':1" },
        { "username": "bob", "data": null, "age_range": "[25,35)",
          "status": "OFFLINE", "catchphrase": "'bat':1 'rat':2" },
        { "username": "a,b", "data": null, "age_range": "[20,30)",
          "status": "OFFLINE", "catchphrase": "'json':1 'test':2" },
        { "username": "c", "data": null, "age_range": "[20,30)",
          "status": "ONLINE", "catchphrase": "'cat':2 'fat':1" },
    ]);

    let plain = api.get("/users?select=*").await;
    let profiled = api
        .get("/users?select=*")
        .header("Accept-Profile", "public")
        .await;

    plain.expect_whole_json(
        200,
        &[("content-type", JSON), range, location],
        rows.clone(),
    );
    let profile = ("content-profile", "public");
    profiled.expect_whole_json(
        200,
        &[("content-type", JSON), range, location, profile],
        rows,
    );
}

/// Vector 2.
#[tokio::test]
async fn head_has_the_count_and_no_length() {
    let api = TestApi::chat().await;

    let reply = api.head("/users?select=*").prefer("count=exact").await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "0-4/5"),
        ("content-location", "/users?select=%2A"),
        ("preference-applied", "count=exact"),
    ];
    reply
        .expect_whole(200, &headers, "")
        .expect_no_header("content-length");
}

/// Vector 3.
#[tokio::test]
async fn a_part_of_a_known_total_is_partial_content() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/users?select=username&limit=2")
        .prefer("count=exact")
        .await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "0-1/5"),
        ("content-location", "/users?limit=2&select=username"),
        ("preference-applied", "count=exact"),
    ];
    let body = "[{\"username\":\"supabot\"}, \n {\"username\":\"alice\"}]";
    reply.expect_whole(206, &headers, body);
}

/// Vector 4.
#[tokio::test]
async fn an_offset_beyond_the_total_is_not_satisfiable() {
    let api = TestApi::chat().await;

    let reply = api.get("/users?offset=100").prefer("count=exact").await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "*/5"),
        ("content-location", "/users?offset=100"),
        ("preference-applied", "count=exact"),
    ];
    let body = json!({
        "code": "PGRST103",
        "details": "An offset of 100 was requested, but there are only 5 rows.",
        "hint": null,
        "message": "Requested range not satisfiable",
    });
    reply.expect_whole_json(416, &headers, body);
}

/// Vector 5.
#[tokio::test]
async fn a_single_object_needs_exactly_one_row() {
    let api = TestApi::chat().await;
    let single = "application/vnd.pgrst.object+json";

    let all = api.get("/users").accept(single).await;
    let none = api.get("/users?username=eq.nobody").accept(single).await;
    let one = api
        .get("/users?username=eq.c&select=username")
        .accept(single)
        .await;

    let message = "Cannot coerce the result to a single JSON object";
    for (reply, rows) in [(all, 5), (none, 0)] {
        let details = json!(format!("The result contains {rows} rows"));
        reply.expect_error_with(406, "PGRST116", message, details, Value::Null);
    }
    let headers = [
        (
            "content-type",
            "application/vnd.pgrst.object+json; charset=utf-8",
        ),
        ("content-range", "0-0/*"),
        ("content-location", "/users?select=username&username=eq.c"),
    ];
    one.expect_whole(200, &headers, "{\"username\":\"c\"}");
}

/// Vector 6.
#[tokio::test]
async fn an_unknown_table_is_named_with_its_schema() {
    let api = TestApi::chat().await;

    let unknown = api.get("/missing_table").await;
    let misspelt = api.get("/userz").await;

    let message = "Could not find the table 'public.missing_table' in the schema cache";
    unknown.expect_error(404, "PGRST205", message);
    let message = "Could not find the table 'public.userz' in the schema cache";
    let hint = json!("Perhaps you meant the table 'public.users'");
    misspelt.expect_error_with(404, "PGRST205", message, Value::Null, hint);
}

/// Vector 15.
#[tokio::test]
async fn logic_trees_nest() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/users?or=(username.eq.bob,and(status.eq.ONLINE,username.like.s*))")
        .await;

    assert_eq!(names(&reply), ["supabot", "bob"]);
}

/// Vector 16.
#[tokio::test]
async fn list_elements_with_commas_are_quoted() {
    let api = TestApi::chat().await;

    let reply = api.get("/users?username=in.(\"a,b\",c)").await;

    assert_eq!(names(&reply), ["a,b", "c"]);
}

/// Vector 17.
#[tokio::test]
async fn ranges_are_compared_with_their_own_operators() {
    let api = TestApi::chat().await;
    let cases: [(&str, &[&str]); 7] = [
        ("cs.[1,2)", &["supabot"]),
        ("ov.[2,25)", &["a,b", "c"]),
        ("sl.[20,25)", &["supabot"]),
        ("sr.[2,24)", &["alice", "bob"]),
        ("nxl.[20,30)", &["alice", "bob", "a,b", "c"]),
        ("nxr.[20,30)", &["supabot", "a,b", "c"]),
        ("adj.[2,20)", &["supabot", "a,b", "c"]),
    ];

    for (filter, expected) in cases {
        let reply = api.get(&format!("/users?age_range={filter}")).await;

        assert_eq!(names(&reply), expected, "{filter}");
    }
}

/// Vector 18.
#[tokio::test]
async fn a_text_search_vector_is_searched_as_it_is() {
    let api = TestApi::chat().await;

    let websearch = api.get("/users?catchphrase=wfts(english).fat cat").await;
    let plain = api.get("/users?catchphrase=plfts.bat").await;
    let either = api.get("/users?catchphrase=fts.rat|json").await;
    let phrase = api.get("/users?catchphrase=phfts(simple).cat bat").await;

    assert_eq!(names(&websearch), ["supabot", "c"]);
    assert_eq!(names(&plain), ["alice", "bob"]);
    assert_eq!(names(&either), ["bob", "a,b"]);
    assert_eq!(names(&phrase), ["alice"]);
}

/// Vector 39.
#[tokio::test]
async fn a_filter_without_operator_is_rejected_with_its_place() {
    let api = TestApi::chat().await;

    let reply = api.get("/users?id=0").await;

    let message = "\"failed to parse filter (0)\" (line 1, column 1)";
    let details = json!("unexpected \"0\" expecting \"not\" or operator (eq, gt, ...)");
    reply.expect_error_with(400, "PGRST100", message, details, Value::Null);
}
