//! Client contract §3.3: what each call becomes on the wire.

use std::collections::BTreeMap;

use plinth_client::rest::{Contained, Count, Explain, Is, Query, TextSearch};
use plinth_client::{Client, rest::Table};
use serde::Serialize;
use serde_json::{Value, json};

use crate::support::{Bench, Recorded, Reply};

struct Wire {
    bench: Bench,
    client: Client,
}

impl Wire {
    fn new() -> Self {
        let bench = Bench::new();
        for method in ["GET", "HEAD", "POST", "PATCH", "DELETE"] {
            bench.server.on(
                &format!("{method} /rest/v1/t"),
                [Reply::json(200, json!([]))],
            );
            bench.server.on(
                &format!("{method} /rest/v1/rpc/f"),
                [Reply::json(200, json!([]))],
            );
        }
        let client = bench.client();
        Self { bench, client }
    }

    fn table(&self) -> Table {
        self.client.from("t")
    }

    async fn sent(&self, query: Query) -> Recorded {
        query.execute().await.expect("a good query");
        self.bench.server.last()
    }

    /// The decoded query of a request, without the selection.
    async fn params(&self, build: impl FnOnce(Query) -> Query) -> String {
        let asked = self.sent(build(self.table().select("*"))).await;
        let pairs = pairs(&asked);
        let shown = pairs.iter().filter(|(name, _)| name != "select");
        shown
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("&")
    }
}

fn pairs(asked: &Recorded) -> Vec<(String, String)> {
    let url = url::Url::parse(&format!("http://x/?{}", asked.query)).expect("a query");
    url.query_pairs().into_owned().collect()
}

macro_rules! filters {
    ($($name:ident: $build:expr => $expected:expr;)*) => {
        #[tokio::test]
        async fn filters_are_spelled_as_postgrest_reads_them() {
            let wire = Wire::new();
            $(
                let build: fn(Query) -> Query = $build;
                assert_eq!(wire.params(build).await, $expected, stringify!($name));
            )*
        }
    };
}

filters! {
    eq: |q| q.eq("c", "v") => "c=eq.v";
    neq: |q| q.neq("c", 1) => "c=neq.1";
    gt: |q| q.gt("c", 1.5) => "c=gt.1.5";
    gte: |q| q.gte("c", true) => "c=gte.true";
    lt: |q| q.lt("c", "a&b=c") => "c=lt.a&b=c";
    lte: |q| q.lte("c", "ü +") => "c=lte.ü +";
    is_null: |q| q.is("c", Is::Null) => "c=is.null";
    is_not_null: |q| q.is("c", Is::NotNull) => "c=is.not_null";
    is_true: |q| q.is("c", Is::True) => "c=is.true";
    is_distinct: |q| q.is_distinct("c", 1) => "c=isdistinct.1";
    in_list: |q| q.in_("c", ["a", "b,c", "a"]) => r#"c=in.(a,"b,c")"#;
    not_in: |q| q.not_in("c", [1, 2]) => "c=not.in.(1,2)";
    like: |q| q.like("c", "%x%") => "c=like.%x%";
    ilike: |q| q.ilike("c", "x") => "c=ilike.x";
    like_all: |q| q.like_all_of("c", ["a%", "%b"]) => "c=like(all).{a%,%b}";
    like_any: |q| q.like_any_of("c", ["a,b"]) => r#"c=like(any).{"a,b"}"#;
    ilike_all: |q| q.ilike_all_of("c", ["a"]) => "c=ilike(all).{a}";
    ilike_any: |q| q.ilike_any_of("c", ["a"]) => "c=ilike(any).{a}";
    regex: |q| q.regex("c", "^a") => "c=match.^a";
    regex_i: |q| q.regex_i("c", "^a") => "c=imatch.^a";
    contains_array: |q| q.contains("c", ["a", "b c"]) => r#"c=cs.{a,"b c"}"#;
    contains_json: |q| q.contains("c", json!({ "a": 1 })) => r#"c=cs.{"a":1}"#;
    contained_by: |q| q.contained_by("c", Contained::array([1, 2])) => "c=cd.{1,2}";
    overlaps: |q| q.overlaps("c", "[1,5)") => "c=ov.[1,5)";
    range_gt: |q| q.range_gt("c", "[1,2]") => "c=sr.[1,2]";
    range_gte: |q| q.range_gte("c", "[1,2]") => "c=nxl.[1,2]";
    range_lt: |q| q.range_lt("c", "[1,2]") => "c=sl.[1,2]";
    range_lte: |q| q.range_lte("c", "[1,2]") => "c=nxr.[1,2]";
    range_adjacent: |q| q.range_adjacent("c", "[1,2]") => "c=adj.[1,2]";
    fts: |q| q.text_search("c", "a & b") => "c=fts.a & b";
    fts_config: |q| q.text_search("c", "a").config("english").kind(TextSearch::Web)
        => "c=wfts(english).a";
    fts_plain: |q| q.text_search("c", "a").kind(TextSearch::Plain) => "c=plfts.a";
    fts_phrase: |q| q.text_search("c", "a").kind(TextSearch::Phrase) => "c=phfts.a";
    match_all: |q| q.match_all(BTreeMap::from([("a", 1), ("b", 2)])) => "a=eq.1&b=eq.2";
    not: |q| q.not("c", "like", "x%") => "c=not.like.x%";
    or: |q| q.or("a.eq.1,b.gt.2") => "or=(a.eq.1,b.gt.2)";
    or_on: |q| q.or("a.eq.1,b.gt.2").on("rel") => "rel.or=(a.eq.1,b.gt.2)";
    raw: |q| q.filter("data->>x", "in", "(1,2)") => "data->>x=in.(1,2)";
    two: |q| q.gte("c", 1).lt("c", 5) => "c=gte.1&c=lt.5";
    order: |q| q.order("a") => "order=a.asc";
    orders: |q| q.order("a").desc().nulls_first().order("b").nulls_last()
        => "order=a.desc.nullsfirst,b.asc.nullslast";
    order_on: |q| q.order("a").desc().on("rel").order("b") => "rel.order=a.desc&order=b.asc";
    limit: |q| q.limit(5) => "limit=5";
    limit_on: |q| q.limit(5).on("rel") => "rel.limit=5";
    range: |q| q.range(10..=19) => "offset=10&limit=10";
    range_on: |q| q.range(0..=0).on("rel") => "rel.offset=0&rel.limit=1";
    last_limit: |q| q.range(10..=19).limit(3) => "offset=10&limit=3";
}

#[tokio::test]
async fn reads_select_without_whitespace_and_say_who_asks() {
    let wire = Wire::new();

    let asked = wire
        .sent(wire.table().select("id, author ( name ), \"my column\""))
        .await;

    assert_eq!(asked.route, "GET /rest/v1/t");
    assert_eq!(pairs(&asked)[0].1, r#"id,author(name),"my column""#);
    assert_eq!(asked.header("accept"), Some("application/json"));
    assert_eq!(asked.header("content-type"), None);
    assert_eq!(asked.header("accept-profile"), None);
    assert!(
        asked
            .header("x-client-info")
            .unwrap()
            .starts_with("plinth-client/")
    );
}

#[tokio::test]
async fn k12_without_a_user_the_key_stands_for_no_user() {
    let wire = Wire::new();

    let asked = wire.sent(wire.table().select("*")).await;
    assert_eq!(asked.header("apikey"), Some("anon-key"));
    assert_eq!(asked.header("authorization"), Some("Bearer anon-key"));

    let stored = wire.bench.store_session(3600).await;
    let asked = wire.sent(wire.table().select("*")).await;
    let bearer = format!("Bearer {}", stored.access_token());
    assert_eq!(asked.header("apikey"), Some("anon-key"));
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
}

#[tokio::test]
async fn r2_headers_of_the_caller_win() {
    let bench = Bench::new();
    bench
        .server
        .on("GET /rest/v1/t", [Reply::json(200, json!([]))]);
    let client = bench
        .builder()
        .header("apikey", "other")
        .header("x-a", "client")
        .build()
        .unwrap();

    let query = client
        .from("t")
        .select("*")
        .header("authorization", "Basic x")
        .header("x-a", "call");
    query.execute().await.unwrap();

    let asked = bench.server.last();
    assert_eq!(asked.header("apikey"), Some("other"));
    assert_eq!(asked.header("authorization"), Some("Basic x"));
    assert_eq!(asked.header("x-a"), Some("call"));
}

#[tokio::test]
async fn r3_another_service_may_give_the_tokens() {
    let bench = Bench::new();
    bench
        .server
        .on("GET /rest/v1/t", [Reply::json(200, json!([]))]);
    let client = bench
        .builder()
        .access_token(|| async { Some("theirs".to_owned()) })
        .unwrap();

    client.from("t").select("*").execute().await.unwrap();

    assert_eq!(
        bench.server.last().header("authorization"),
        Some("Bearer theirs")
    );
}

#[tokio::test]
async fn schemas_are_named_for_reading_or_writing() {
    let wire = Wire::new();

    let read = wire
        .sent(wire.client.schema("s").from("t").select("*"))
        .await;
    assert_eq!(
        (
            read.header("accept-profile"),
            read.header("content-profile")
        ),
        (Some("s"), None)
    );
    let write = wire
        .sent(wire.table().schema("s").delete().eq("id", 1))
        .await;
    assert_eq!(
        (
            write.header("accept-profile"),
            write.header("content-profile")
        ),
        (None, Some("s"))
    );
    let head = wire.sent(wire.table().schema("s").select("*").head()).await;
    assert_eq!(head.header("accept-profile"), Some("s"));
    let call = wire
        .sent(wire.client.schema("s").rpc("f", &json!({})).query())
        .await;
    assert_eq!(call.header("content-profile"), Some("s"));

    let bench = &wire.bench;
    let client = bench.builder().schema("mine").build().unwrap();
    client.from("t").select("*").execute().await.unwrap();
    assert_eq!(bench.server.last().header("accept-profile"), Some("mine"));
}

#[tokio::test]
async fn rows_are_added() {
    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        age: Option<u8>,
    }
    let wire = Wire::new();

    wire.table()
        .insert(&Row {
            name: "a",
            age: Some(1),
        })
        .execute()
        .await
        .unwrap();

    let asked = wire.bench.server.last();
    assert_eq!(
        (asked.route.as_str(), asked.query.as_str()),
        ("POST /rest/v1/t", "")
    );
    assert_eq!(asked.body, r#"{"name":"a","age":1}"#);
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("prefer"), None);
}

#[tokio::test]
async fn many_rows_name_all_their_columns_as_first_seen() {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Row {
        One { zeta: u8, name: u8 },
        Two { name: u8, alpha: u8 },
    }
    let wire = Wire::new();
    let rows = [
        Row::One { zeta: 1, name: 2 },
        Row::Two { name: 3, alpha: 4 },
    ];

    let insert = wire
        .table()
        .insert_many(rows)
        .default_to_null(false)
        .count(Count::Exact);
    insert.returning("id").execute().await.unwrap();

    let asked = wire.bench.server.last();
    assert_eq!(
        pairs(&asked)[0],
        ("columns".to_owned(), r#""zeta","name","alpha""#.to_owned())
    );
    assert_eq!(pairs(&asked)[1], ("select".to_owned(), "id".to_owned()));
    assert_eq!(asked.body, r#"[{"zeta":1,"name":2},{"name":3,"alpha":4}]"#);
    assert_eq!(
        asked.header("prefer"),
        Some("count=exact,missing=default,return=representation")
    );
}

#[tokio::test]
async fn rows_are_merged_or_left() {
    let wire = Wire::new();
    let row = json!({ "id": 1 });

    wire.table()
        .upsert(&row)
        .on_conflict("id,kind")
        .execute()
        .await
        .unwrap();
    let asked = wire.bench.server.last();
    assert_eq!(
        pairs(&asked),
        [("on_conflict".to_owned(), "id,kind".to_owned())]
    );
    assert_eq!(asked.header("prefer"), Some("resolution=merge-duplicates"));

    wire.table()
        .upsert_many([&row])
        .ignore_duplicates()
        .execute()
        .await
        .unwrap();
    let asked = wire.bench.server.last();
    assert_eq!(asked.header("prefer"), Some("resolution=ignore-duplicates"));
}

#[tokio::test]
async fn rows_are_changed_and_removed() {
    let wire = Wire::new();

    let update = wire
        .table()
        .update(&json!({ "a": 1 }))
        .eq("id", 1)
        .returning("*")
        .max_affected(3);
    let asked = wire.sent(update.rollback()).await;
    assert_eq!(asked.route, "PATCH /rest/v1/t");
    assert_eq!(asked.body, r#"{"a":1}"#);
    assert_eq!(
        asked.header("prefer"),
        Some("return=representation,handling=strict,max-affected=3,tx=rollback")
    );

    let asked = wire
        .sent(wire.table().delete().eq("id", 1).count(Count::Planned))
        .await;
    assert_eq!(
        (asked.route.as_str(), asked.query.as_str()),
        ("DELETE /rest/v1/t", "id=eq.1")
    );
    assert_eq!(asked.header("prefer"), Some("count=planned"));
}

#[tokio::test]
async fn preferences_join_those_of_the_caller() {
    let wire = Wire::new();

    let query = wire
        .table()
        .select("*")
        .header("prefer", "timezone=UTC")
        .count(Count::Estimated);

    assert_eq!(
        wire.sent(query).await.header("prefer"),
        Some("timezone=UTC,count=estimated")
    );
}

#[tokio::test]
async fn functions_are_called_by_post_get_or_head() {
    let wire = Wire::new();
    let args = json!({ "a": 1, "list": ["x", "y z"], "text": "t" });

    let asked = wire.sent(wire.client.rpc("f", &args).query()).await;
    assert_eq!(asked.route, "POST /rest/v1/rpc/f");
    assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), args);

    let asked = wire
        .sent(wire.client.rpc("f", &args).get().select("id").order("id"))
        .await;
    assert_eq!(
        (asked.route.as_str(), asked.body.as_str()),
        ("GET /rest/v1/rpc/f", "")
    );
    let pairs: Vec<String> = pairs(&asked)
        .iter()
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    assert_eq!(
        pairs,
        [
            "a=1",
            r#"list={x,"y z"}"#,
            "text=t",
            "select=id",
            "order=id.asc"
        ]
    );

    let asked = wire
        .sent(
            wire.client
                .rpc("f", &args)
                .head()
                .count(Count::Exact)
                .query(),
        )
        .await;
    assert_eq!(asked.route, "HEAD /rest/v1/rpc/f");

    for args in [json!({ "o": {} }), json!({ "o": [1, [{}]] })] {
        let asked = wire.sent(wire.client.rpc("f", &args).head().query()).await;
        assert_eq!(asked.route, "POST /rest/v1/rpc/f", "{args}");
        assert_eq!(asked.header("prefer"), Some("return=minimal"));
    }

    let asked = wire.sent(wire.client.rpc("f", &()).query()).await;
    assert_eq!(asked.body, "{}");
}

#[tokio::test]
async fn forms_are_asked_for_by_media_type() {
    let wire = Wire::new();
    let accepted = async |build: fn(Query) -> Query| {
        let asked = build(wire.table().select("*")).execute_as::<Value>().await;
        drop(asked);
        wire.bench
            .server
            .last()
            .header("accept")
            .unwrap()
            .to_owned()
    };

    assert_eq!(
        accepted(Query::single).await,
        "application/vnd.pgrst.object+json"
    );
    assert_eq!(accepted(Query::maybe_single).await, "application/json");
    assert_eq!(accepted(Query::csv).await, "text/csv");
    assert_eq!(accepted(Query::geojson).await, "application/geo+json");
    assert_eq!(
        accepted(Query::strip_nulls).await,
        "application/vnd.pgrst.array+json;nulls=stripped"
    );
    assert_eq!(
        accepted(|query| query.single().strip_nulls()).await,
        "application/vnd.pgrst.object+json;nulls=stripped"
    );
    let explain = |query: Query| {
        query.explain(Explain {
            analyze: true,
            buffers: true,
            json: true,
            ..Explain::default()
        })
    };
    assert_eq!(
        accepted(explain).await,
        r#"application/vnd.pgrst.plan+json; for="application/json"; options=analyze|buffers;"#
    );
}

#[tokio::test]
async fn the_description_of_the_api_can_be_read() {
    let bench = Bench::new();
    bench.server.on(
        "GET /rest/v1/",
        [Reply::json(200, json!({ "swagger": "2.0" }))],
    );

    let described = bench.client().open_api().await.unwrap();

    assert_eq!(described["swagger"], "2.0");
    assert_eq!(
        bench.server.last().header("accept"),
        Some("application/openapi+json")
    );
}

#[tokio::test]
async fn names_cannot_leave_their_place_in_the_url() {
    let bench = Bench::new();
    bench
        .server
        .on("GET /rest/v1/a%20b%3Fc%23d", [Reply::json(200, json!([]))]);

    bench
        .client()
        .from("a b?c#d")
        .select("*")
        .execute()
        .await
        .unwrap();
}

#[tokio::test]
async fn refinements_must_follow_what_they_refine() {
    let wire = Wire::new();
    let mistakes: [fn(Query) -> Query; 6] = [
        Query::desc,
        |query| query.limit(1).nulls_first(),
        |query| query.on("rel"),
        |query| query.order("a").config("english"),
        |query| query.range(RANGE),
        |query| query.header("bad name", "x"),
    ];

    for mistake in mistakes {
        let error = mistake(wire.table().select("*"))
            .execute()
            .await
            .unwrap_err();
        assert_eq!((error.code.as_str(), error.status), ("", 0));
    }
    assert!(wire.bench.server.asked().is_empty());
}

#[expect(clippy::reversed_empty_ranges, reason = "that is the mistake")]
const RANGE: std::ops::RangeInclusive<u64> = 5..=2;
