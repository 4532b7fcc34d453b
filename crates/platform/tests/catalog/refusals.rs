//! What is refused: bad input, system objects, objects of extensions.

use http::Method;
use plinth_platform::TokenLimits;
use serde_json::{Value, json};

use crate::app::{Catalog, id};

#[tokio::test]
async fn bad_bodies_are_refused_with_a_reason() {
    let catalog = Catalog::start().await;
    catalog.sql("create table t (a int)").await;
    let table = catalog.table("public", "t").await;
    let t = &table["id"];
    let column = |changes: Value| {
        let mut body = json!({ "table_id": t, "name": "b", "type": "int4" });
        for (name, value) in changes.as_object().expect("an object") {
            body[name] = value.clone();
        }
        body
    };
    for (path, body) in [
        ("/tables", json!({})),
        ("/tables", json!({ "name": "" })),
        ("/tables", json!({ "name": "x".repeat(64) })),
        ("/tables", json!({ "name": "a\0b" })),
        ("/tables", json!([])),
        ("/schemas", json!({ "name": 7 })),
        ("/columns", column(json!({ "type": "" }))),
        ("/columns", column(json!({ "type": "no_such_type" }))),
        (
            "/columns",
            column(json!({ "check": "true) , add column c int check (true" })),
        ),
        ("/columns", column(json!({ "check": "a > 0" }))),
        (
            "/columns",
            column(json!({ "is_identity": true, "default_value": 1 })),
        ),
        (
            "/columns",
            column(
                json!({ "default_value": "1; drop table t", "default_value_format": "expression" }),
            ),
        ),
        ("/columns", column(json!({ "default_value": "x" }))),
        ("/indexes", json!({ "table_id": t, "parts": [] })),
        ("/indexes", json!({ "table_id": t, "parts": [{}] })),
        (
            "/indexes",
            json!({ "table_id": t, "parts": [{ "column": "a", "expression": "a" }], "concurrently": false }),
        ),
        (
            "/indexes",
            json!({ "table_id": t, "parts": [{ "column": "a" }], "where": "a; b", "concurrently": false }),
        ),
        (
            "/policies",
            json!({ "name": "p", "table": "t", "definition": "true) to public using (true" }),
        ),
        (
            "/policies",
            json!({ "name": "p", "table": "t", "action": "LAX" }),
        ),
        (
            "/triggers",
            json!({ "name": "x", "table": "t", "function_name": "f", "activation": "BEFORE", "events": [] }),
        ),
        (
            "/triggers",
            json!({ "name": "x", "table": "t", "function_name": "f", "activation": "BEFORE", "events": ["INSERT ON t EXECUTE FUNCTION f(); --"] }),
        ),
        (
            "/functions",
            json!({ "name": "f", "definition": "select 1", "args": ["a int) returns int language sql as 'select 2'; --"] }),
        ),
        (
            "/functions",
            json!({ "name": "f", "definition": "select 1", "return_type": "int; drop table t" }),
        ),
        (
            "/types",
            json!({ "name": "e", "kind": "enum", "enums": [""] }),
        ),
        ("/types", json!({ "name": "e", "kind": "nothing" })),
        (
            "/constraints",
            json!({ "table_id": t, "kind": "unique", "columns": [] }),
        ),
        (
            "/table-privileges",
            json!([{ "relation_id": t, "grantee": "anon", "privilege_type": "SELECT ON t TO anon; --" }]),
        ),
        (
            "/column-privileges",
            json!([{ "column_id": format!("{t}.1"), "grantee": "anon", "privilege_type": "DELETE" }]),
        ),
        (
            "/column-privileges",
            json!([{ "column_id": "t.a", "grantee": "anon", "privilege_type": "SELECT" }]),
        ),
        ("/extensions", json!({ "name": "no such extension" })),
        ("/roles", json!({ "name": "" })),
    ] {
        catalog.refused(Method::POST, path, Some(body), 400).await;
    }
    let now = catalog.table("public", "t").await;
    assert_eq!(now["columns"], table["columns"]);
    let reply = catalog.app.request(
        Method::POST,
        "/pg/default/tables",
        Some(("application/json".to_owned(), b"{\"name\":".to_vec())),
    );
    assert_eq!(reply.await.status, 400);
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let catalog = Catalog::start().await;
    for kind in [
        "schemas",
        "tables",
        "functions",
        "triggers",
        "policies",
        "publications",
        "roles",
        "types",
        "constraints",
        "indexes",
    ] {
        for unknown in ["4294967290", "x"] {
            let path = format!("/{kind}/{unknown}");
            catalog
                .refused(Method::PATCH, &path, Some(json!({})), 404)
                .await;
            catalog.refused(Method::DELETE, &path, None, 404).await;
        }
    }
    for path in ["/columns/4294967290.1", "/columns/1259.4000", "/columns/x"] {
        catalog
            .refused(Method::PATCH, path, Some(json!({})), 404)
            .await;
    }
    let body = json!({ "table_id": 4_294_967_290_u32, "name": "a", "type": "int4" });
    catalog
        .refused(Method::POST, "/columns", Some(body), 404)
        .await;
    catalog.refused(Method::GET, "/nonsense", None, 404).await;
    let reply = catalog
        .app
        .request(Method::GET, "/pg/abcdefghijklmnopqrst/tables", None);
    assert_eq!(reply.await.status, 404);
}

#[tokio::test]
async fn system_objects_are_left_alone() {
    let catalog = Catalog::start().await;
    let one = async |path: &str, name: &str| {
        let list = catalog.get(path).await;
        let list = list.as_array().cloned().expect("a list");
        list.into_iter()
            .find(|one| one["name"] == name)
            .expect(name)
    };
    let class = one("/tables?included_schemas=pg_catalog", "pg_class").await;
    let catalog_schema = one("/schemas?include_system_schemas=true", "pg_catalog").await;
    let plinth = one("/functions?included_schemas=plinth_roles", "set_setting").await;
    let crypt = one("/functions?included_schemas=extensions", "crypt").await;
    let anon = one("/roles", "anon").await;
    for (method, path, body) in [
        (Method::DELETE, format!("/tables/{}", id(&class)), None),
        (
            Method::PATCH,
            format!("/tables/{}", id(&class)),
            Some(json!({ "name": "x" })),
        ),
        (
            Method::PATCH,
            format!("/columns/{}.1", id(&class)),
            Some(json!({ "name": "x" })),
        ),
        (
            Method::DELETE,
            format!("/schemas/{}", id(&catalog_schema)),
            None,
        ),
        (Method::DELETE, format!("/functions/{}", id(&plinth)), None),
        (Method::DELETE, format!("/functions/{}", id(&crypt)), None),
        (
            Method::PATCH,
            format!("/functions/{}", id(&crypt)),
            Some(json!({ "name": "x" })),
        ),
        (Method::DELETE, format!("/roles/{}", id(&anon)), None),
        (
            Method::PATCH,
            format!("/roles/{}", id(&anon)),
            Some(json!({ "is_superuser": true })),
        ),
        (
            Method::POST,
            "/tables".to_owned(),
            Some(json!({ "name": "x", "schema": "pg_catalog" })),
        ),
        (
            Method::POST,
            "/tables".to_owned(),
            Some(json!({ "name": "x", "schema": "plinth" })),
        ),
        (
            Method::POST,
            "/schemas".to_owned(),
            Some(json!({ "name": "pg_x" })),
        ),
        (
            Method::POST,
            "/roles".to_owned(),
            Some(json!({ "name": "supabase_x" })),
        ),
        (
            Method::POST,
            "/roles".to_owned(),
            Some(json!({ "name": "mine", "is_superuser": true })),
        ),
    ] {
        catalog.refused(method, &path, body, 403).await;
    }
    let path = format!("/roles/{}", id(&anon));
    let config = json!({ "config": [{ "op": "add", "path": "statement_timeout", "value": "9s" }] });
    catalog.patch(&path, config).await;
    let stored = "select value from plinth_roles.settings where role = 'anon' and name = 'statement_timeout'";
    assert_eq!(catalog.value(stored).await.as_deref(), Some("9s"));
}

#[tokio::test]
async fn a_token_that_reads_changes_nothing() {
    let catalog = Catalog::start().await;
    let limits = TokenLimits {
        scopes: Some(vec!["database_read".to_owned()]),
        ..TokenLimits::default()
    };
    let (_, token) = catalog.app.token_with("reader", limits).await;
    let send = |method: Method, path: &str| {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/pg/default{path}"))
            .header("authorization", format!("Bearer {}", token.expose()))
            .header("pg", "postgresql://elsewhere")
            .header("content-type", "application/json")
            // What the body is does not matter: the refusal comes first.
            .body(axum::body::Body::from("{"))
            .expect("a request");
        catalog.app.send(request)
    };
    assert_eq!(send(Method::GET, "/tables").await.status, 200);
    for (method, path) in [
        (Method::POST, "/tables"),
        (Method::PATCH, "/tables/1"),
        (Method::DELETE, "/tables/1"),
        (Method::POST, "/query"),
    ] {
        let reply = send(method, path).await;
        assert_eq!(reply.status, 403, "{reply:?}");
        assert!(reply.json()["error"].is_string());
    }
}
