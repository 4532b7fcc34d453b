//! Random requests get a response, and never a 5xx.

use http::{HeaderName, HeaderValue, Method, Request};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use tokio::runtime::Runtime;

use crate::support::{Requests, Sql, TestApi};

/// The parts of a request.
#[derive(Debug, Clone)]
struct Asked {
    method: Method,
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

fn word() -> impl Strategy<Value = String> {
    let known = select(vec![
        "object",
        "bucket",
        "list",
        "list-v2",
        "sign",
        "upload",
        "public",
        "authenticated",
        "info",
        "move",
        "copy",
        "empty",
        "b",
        "shut",
        "a",
        "folder",
        "",
        ".",
        "..",
        "%2e%2e",
        "%00",
        "%ff",
        "%2F",
        "a%20b",
        "~",
        "b%2Fa",
        "%C3%BC",
        "%",
        "status",
        "health",
        "version",
    ]);
    prop_oneof![6 => known.prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
}

fn path() -> impl Strategy<Value = String> {
    let query = select(vec![
        "",
        "?token=x",
        "?token=",
        "?download",
        "?download=%0d%0a",
        "?limit=0",
        "?limit=1e9",
        "?offset=99999999999999999999",
        "?sortColumn=id;",
        "?search=%25%00",
        "?%",
        "?a=%ff&a",
    ]);
    let known = select(vec![
        "/bucket",
        "/bucket/b",
        "/bucket/shut/empty",
        "/object/b/a",
        "/object/shut/new",
        "/object/public/b/a",
        "/object/authenticated/shut/folder/a",
        "/object/info/b/a",
        "/object/list/b",
        "/object/list-v2/b",
        "/object/sign/b",
        "/object/sign/b/a",
        "/object/upload/sign/b/a",
        "/object/move",
        "/object/copy",
        "/object/b",
    ]);
    let built = vec(word(), 1..6).prop_map(|words| {
        let mut path = format!("/{}", words.join("/"));
        path.retain(|c| !" \"<>?#\\^`{|}".contains(c));
        path
    });
    let path = prop_oneof![known.prop_map(str::to_owned), built];
    (path, query).prop_map(|(path, query)| format!("{path}{query}"))
}

fn header() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let names = select(vec![
        "range",
        "if-none-match",
        "if-modified-since",
        "if-range",
        "x-upsert",
        "x-metadata",
        "x-robots-tag",
        "content-type",
        "content-length",
        "cache-control",
        "authorization",
        "apikey",
        "x-client-info",
        "user-agent",
        "origin",
    ]);
    let values = prop_oneof![
        select(vec![
            "bytes=0-",
            "bytes=-1",
            "bytes=99999999999999999999-",
            "*",
            "\"x\"",
            "true",
            "e30=",
            "bm9wZQ==",
            "noindex",
            "multipart/form-data; boundary=x",
            "multipart/form-data",
            "text/plain",
            "nonsense",
            "0",
            "18446744073709551616",
            "Fri, 02 Jan 2026 03:04:05 GMT",
            "supabase-py/1",
            "Bearer x",
            "Bearer ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff], 0..20),
    ];
    (names, values)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec![
        "",
        "{}",
        "{",
        "[]",
        "null",
        r#"{"prefix":""}"#,
        r#"{"prefix":"\u0000"}"#,
        r#"{"prefix":"a","limit":-1}"#,
        r#"{"prefix":"","offset":1e30}"#,
        r#"{"prefix":"","limit":9223372036854775807,"offset":9223372036854775807}"#,
        r#"{"prefix":"","sortBy":{"column":"created_at","order":"desc"}}"#,
        r#"{"cursor":"bDphCmE6MDAwMC0wMS0wMVQwMDowMDowMFo="}"#,
        r#"{"expiresIn":9223372036854775807,"paths":["a","\u0000"]}"#,
        r#"{"expiresIn":60}"#,
        r#"{"prefixes":["\u0000","none"]}"#,
        r#"{"name":"\u0000"}"#,
        r#"{"name":"new","file_size_limit":1e300}"#,
        r#"{"name":"new2","allowed_mime_types":["\u0000/x"]}"#,
        r#"{"bucketId":"b","sourceKey":"\u0000","destinationKey":"x"}"#,
        r#"{"bucketId":"b","sourceKey":"a","destinationKey":"../x"}"#,
        "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"f\"\r\n\r\nhi\r\n--x--",
        "--x\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{\"a\":\"\\u0000\"}\r\n--x--",
    ]);
    prop_oneof![
        4 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..200),
    ]
}

fn request() -> impl Strategy<Value = Asked> {
    let methods = select(vec![
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::OPTIONS,
    ]);
    (methods, path(), vec(header(), 0..4), body()).prop_map(|(method, path, headers, body)| Asked {
        method,
        path,
        headers,
        body,
    })
}

fn send(api: &TestApi, runtime: &Runtime, asked: &Asked) -> u16 {
    let call = api.call(asked.method.clone(), "/").service_role().with(
        |request: &mut Request<axum::body::Body>| {
            if let Ok(uri) = asked.path.parse() {
                *request.uri_mut() = uri;
            }
            *request.body_mut() = asked.body.clone().into();
            for (name, value) in &asked.headers {
                let value = HeaderValue::from_bytes(value).expect("no control characters");
                request
                    .headers_mut()
                    .insert(HeaderName::from_static(name), value);
            }
        },
    );
    runtime.block_on(async move { call.await.status.as_u16() })
}

#[test]
fn no_request_is_a_fault_of_ours() {
    let runtime = Runtime::new().expect("a runtime");
    let api = runtime.block_on(async {
        let api = TestApi::start().await;
        api.has_bucket("b", true).await;
        api.has_bucket("shut", false).await;
        api.has_object("b/a", "hello").await;
        api.has_object("shut/folder/a", "hello").await;
        api
    });
    let config = Config {
        cases: 600,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&request(), |asked| {
        let status = send(&api, &runtime, &asked);
        prop_assert!(
            status < 500 || status == 503 || status == 544,
            "{status}: {asked:?}"
        );
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // Nothing is left but what was committed.
    runtime.block_on(async {
        api.collect_garbage_later().await;
        let objects =
            "select count(distinct version) from storage.objects where version is not null";
        let objects = usize::try_from(api.count(objects).await).expect("some");
        assert_eq!(api.files(), (0, objects));
        assert_eq!(api.ledger().await, (0, 0));
    });
}
