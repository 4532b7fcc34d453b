//! Logs, reports, the summary of all projects and the search of the palette, over the API.

mod support;

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use plinth_log::{AccessEntry, Level, Record, Source, Timestamp};
use plinth_platform::{TokenLimits, api};
use plinth_project::{ProjectName, ProjectRef};
use plinth_testkit::{Call, Reply, until_some};
use plinth_token::Secret;
use serde_json::{Value, json};
use support::TestPlatform;

fn access(project: &ProjectRef, path: &str, status: u16) -> Box<AccessEntry> {
    Box::new(AccessEntry {
        time: Timestamp::now(),
        project: project.shared(),
        request_id: format!("req-{status}").into(),
        method: Method::GET,
        path: path.into(),
        status,
        duration: Duration::from_millis(12),
        bytes: 100,
        service: "rest",
        client: [127, 0, 0, 1].into(),
        host: "localhost".to_owned(),
        user_agent: None,
        error: None,
        role: None,
        user_id: None,
    })
}

async fn get(app: &TestPlatform, uri: &str) -> Reply {
    app.request(Method::GET, uri, None).await
}

async fn get_as(app: &TestPlatform, token: &Secret, uri: &str) -> Reply {
    let call = Call::new(api::routes(app.platform.clone()), Method::GET, uri);
    call.bearer(token.expose()).await
}

fn texts(list: &Value, member: &str) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|it| it[member].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_request_is_found_across_services_with_its_context() {
    let app = TestPlatform::start().await;
    let project = app.reference(&ProjectName::Default).await;
    let base = format!("/platform/projects/{project}/logs");
    for (source, message) in [
        (Source::Api, "GET /rest/v1/orders 503"),
        (Source::Rest, "the query failed, \"badly\""),
        (Source::Postgres, "canceling statement"),
    ] {
        let record = Record::new(source, Level::Error, message).request_id("abc-1");
        app.logs.write(record.project(project.as_str()));
    }
    let other = Record::new(Source::Auth, Level::Info, "=1+1").request_id("abc-2");
    app.logs.write(other.project(project.as_str()));
    app.logs.flush().await;

    let request = get(&app, &format!("{base}/requests/abc-1")).await.ok();
    let mut sources = texts(&request["records"], "source");
    sources.sort();
    assert_eq!(sources, ["api", "postgres", "rest"]);
    get(&app, &format!("{base}/requests/none"))
        .await
        .expect_status(404);
    let id = request["records"][1]["id"].as_str().expect("a position");
    let context = get(&app, &format!("{base}/context?id={id}&each_way=10"))
        .await
        .ok();
    let count = |name: &str| context[name].as_array().map_or(0, Vec::len);
    assert_eq!(count("newer") + count("older"), 3, "{context}");
    let counted = get(&app, &format!("{base}/histogram?buckets=5&q=abc-1"))
        .await
        .ok();
    let errors = counted["buckets"].as_array().expect("buckets").iter();
    assert_eq!(
        errors
            .map(|it| it["error"].as_u64().unwrap_or(0))
            .sum::<u64>(),
        3
    );
    let csv = get(&app, &format!("{base}/export?format=csv")).await;
    assert!(
        csv.text().starts_with("time,level,source,message"),
        "{}",
        csv.text()
    );
    assert!(csv.text().contains("\"'=1+1\"") && csv.text().contains("\"\"badly\"\""));
    let lines = get(&app, &format!("{base}/export?format=ndjson&level=error")).await;
    assert_eq!(lines.text().lines().count(), 3);
    let sources = get(&app, &format!("{base}/sources")).await.ok();
    assert_eq!(sources.as_array().map(Vec::len), Some(9));
    assert!(sources[1]["bytes"].as_u64() > Some(0), "{sources}");
}

#[tokio::test]
async fn bad_parameters_of_logs_and_reports_are_named() {
    let app = TestPlatform::start().await;
    for path in [
        "logs?since=yesterday",
        "logs?level=eror",
        "logs?source=kong",
        "logs?q=%22open",
        "logs?cursor=x",
        "logs/histogram?buckets=0",
        "logs/histogram?buckets=100000",
        "logs/histogram?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
        "logs/context",
        "logs/context?id=x",
        "logs/export",
        "logs/export?format=xlsx",
        "metrics/query",
        "metrics/query?name=joy",
        "metrics/query?name=requests&range=1y",
        "metrics/query?name=requests&step=7",
        "metrics/query?name=requests&by=user",
        "metrics/query?name=requests&until=soon",
        "overview?range=",
        "queries?sort=beauty",
        "queries?limit=x",
        "search",
        "search?q=",
        "search?q=%00",
    ] {
        let reply = get(&app, &format!("/platform/projects/default/{path}")).await;
        let body = reply.expect_status(400).json();
        assert_eq!(body["code"], "invalid_request", "{path}: {body}");
    }
}

#[tokio::test]
async fn requests_are_reported_over_time() {
    let app = TestPlatform::start().await;
    let project = app.reference(&ProjectName::Default).await;
    for status in [200, 200, 404, 503] {
        app.logs
            .write_access(access(&project, "/rest/v1/orders?x=1", status));
    }
    app.logs.flush().await;
    let base = format!("/platform/projects/{project}");
    let series = async |query: &str| {
        let body = get(&app, &format!("{base}/metrics/query?range=1h&{query}"))
            .await
            .ok();
        let sum = |series: &Value| -> f64 {
            let values = series["values"].as_array().expect("values").iter();
            values.filter_map(Value::as_f64).sum()
        };
        let list = body["series"].as_array().expect("a list").clone();
        let named = list
            .iter()
            .map(|it| (it["key"].as_str().unwrap_or_default().to_owned(), sum(it)));
        named.collect::<BTreeMap<_, _>>()
    };

    let all = series("name=requests").await;
    let by_status = series("name=requests&by=status").await;
    let by_route = series("name=errors&by=route").await;
    let latency = get(&app, &format!("{base}/metrics/query?range=1h&name=latency"))
        .await
        .ok();

    let expected = |pairs: &[(&str, f64)]| -> BTreeMap<String, f64> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    };
    assert_eq!(all, expected(&[("", 4.0)]));
    assert_eq!(
        by_status,
        expected(&[("2xx", 2.0), ("4xx", 1.0), ("5xx", 1.0)])
    );
    assert_eq!(by_route, expected(&[("/rest/v1/orders", 1.0)]));
    assert_eq!(texts(&latency["series"], "quantile"), ["p50", "p95", "p99"]);
    let p50 = latency["series"][0]["values"].as_array().expect("values");
    let p50: Vec<f64> = p50.iter().filter_map(Value::as_f64).collect();
    assert!(p50.len() == 1 && (10.0..14.0).contains(&p50[0]), "{p50:?}");
    let overview = get(&app, &format!("{base}/overview?range=1h")).await.ok();
    assert_eq!(overview["services"][0]["requests"], 4);
    assert_eq!(overview["routes"][0]["name"], "/rest/v1/orders");
    assert!(
        overview["database_bytes"].as_i64() > Some(1_000_000),
        "{overview}"
    );
    assert_eq!(
        overview["log_errors"][0]["request_id"], "req-503",
        "{overview}"
    );
    assert_eq!(overview["series"].as_array().map(Vec::len), Some(60));
    assert_eq!(overview["checklist"]["table"], false);
}

#[tokio::test]
async fn the_database_is_reported_and_statements_of_others_are_not() {
    let app = TestPlatform::start().await;
    let mine = app.project("Mine").await;
    let project = app.open(&mine).await;
    let owner = project.db.as_owner().await.expect("a connection");
    let sql = "create table \"odd \"\"name\"\" 😀\" (id int); insert into \"odd \"\"name\"\" 😀\" select 1";
    owner.batch_execute(sql).await.expect("a table");
    let base = format!("/platform/projects/{}", project.reference());

    let report = get(&app, &format!("{base}/reports/database")).await.ok();
    let queries = get(&app, &format!("{base}/queries?sort=calls&search=ODD"))
        .await
        .ok();

    assert!(report["bytes"].as_i64() > Some(1_000_000));
    assert!(
        texts(&report["tables"], "name").contains(&"odd \"name\" 😀".to_owned()),
        "{report}"
    );
    assert!(report["transactions_left"].as_i64() > Some(1_000_000));
    if queries["is_available"] == true {
        let other = app.project("Other").await;
        let other = app.reference(&other).await;
        assert!(queries.to_string().contains("odd"), "{queries}");
        let others = get(&app, &format!("/platform/projects/{other}/queries"))
            .await
            .ok();
        assert!(!others.to_string().contains("odd"), "{others}");
    } else {
        assert!(queries["hint"].is_string(), "{queries}");
    }
}

#[tokio::test]
async fn a_summary_opens_no_project() {
    let app = TestPlatform::start().await;
    let mine = app.reference(&app.project("Mine").await).await;
    let other = app.reference(&app.project("Other").await).await;
    app.logs.write_access(access(&mine, "/rest/v1/a", 200));
    app.logs.write_access(access(&mine, "/rest/v1/a", 500));
    app.logs.flush().await;
    let limits = TokenLimits {
        projects: Some(vec![mine.clone()]),
        ..TokenLimits::default()
    };
    let (_, token) = app.token_with("ci", limits).await;

    let all = get(&app, "/platform/projects/summary").await.ok();
    let own = get_as(&app, &token, "/platform/projects/summary")
        .await
        .ok();

    assert!(texts(&all, "ref").contains(&other.to_string()));
    assert_eq!(texts(&own, "ref"), [mine.to_string()]);
    let requests: u64 = own[0]["requests_24h"]
        .as_array()
        .expect("hours")
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!((requests, own[0]["errors"].as_u64()), (2, Some(1)));
    assert!(own[0]["last_activity"].is_string());
    let size = until_some(async || {
        let own = get_as(&app, &token, "/platform/projects/summary")
            .await
            .ok();
        own[0]["database_bytes"].as_i64()
    });
    assert!(size.await > 1_000_000);
    let open = app.registry.open_projects();
    assert!(
        !open.iter().any(|project| *project.reference() == mine),
        "it was opened"
    );
}

#[tokio::test]
async fn the_palette_finds_objects_by_a_part_of_their_name() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let project = app.open(&name).await;
    let owner = project.db.as_owner().await.expect("a connection");
    owner
        .batch_execute(
            "create table \"Orders.2026 😀\" (id int, order_note text);
             create view recent_orders as select 1 as one;
             create function count_orders() returns int language sql as 'select 1';
             create table a100 (x int); create table axx (x int)",
        )
        .await
        .expect("objects");
    let base = format!("/platform/projects/{}/search", project.reference());

    let found = get(&app, &format!("{base}?q=ORDER")).await.ok();
    let literal = get(&app, &format!("{base}?q=a1__")).await.ok();
    let settings = get(&app, &format!("{base}?q=max_rows")).await.ok();

    let list = found["results"].as_array().expect("a list").iter();
    let found: Vec<(String, String)> = list
        .map(|it| (it["kind"].to_string(), it["name"].to_string()))
        .filter(|(kind, _)| kind != "\"setting\"")
        .collect();
    for (kind, name) in [
        ("table", "Orders.2026 😀"),
        ("view", "recent_orders"),
        ("column", "order_note"),
        ("database_function", "count_orders"),
    ] {
        let wanted = (json!(kind).to_string(), json!(name).to_string());
        assert!(found.contains(&wanted), "{kind} {name}: {found:?}");
    }
    assert_eq!(literal["results"], json!([]), "_ is no wildcard");
    assert_eq!(settings["results"][0]["kind"], "setting");
    let limits = TokenLimits {
        scopes: Some(vec!["database_read".to_owned()]),
        ..TokenLimits::default()
    };
    let (_, token) = app.token_with("ci", limits).await;
    let limited = get_as(&app, &token, &format!("{base}?q=max_rows"))
        .await
        .ok();
    assert_eq!(
        limited["results"],
        json!([]),
        "settings need a scope of their own"
    );
}
