//! Each form: what it asks for is what the catalog has afterwards.

use http::Method;
use serde_json::{Value, json};

use crate::app::{Catalog, id};

/// Whether `object` has these members.
#[track_caller]
fn has(object: &Value, members: Value) {
    for (name, value) in members.as_object().expect("an object") {
        assert_eq!(&object[name], value, "{name} of {object}");
    }
}

#[tokio::test]
async fn columns_have_what_was_asked_for() {
    let catalog = Catalog::start().await;
    catalog
        .sql("create type mood as enum ('sad', 'happy'); create table t (id int)")
        .await;
    let table = catalog.table("public", "t").await;
    let add = |name: &str, body: Value| {
        let mut body = body;
        body["table_id"] = table["id"].clone();
        body["name"] = json!(name);
        let catalog = &catalog;
        async move { catalog.post("/columns", body).await }
    };
    for (body, expected) in [
        (json!({ "type": "int8", "is_identity": true, "identity_generation": "ALWAYS" }),
         json!({ "is_identity": true, "identity_generation": "ALWAYS", "is_nullable": false, "format": "int8" })),
        (json!({ "type": "numeric(10,2)", "default_value": 1.5, "is_nullable": false }),
         json!({ "full_type": "numeric(10,2)", "default_value": "1.5", "is_nullable": false })),
        (json!({ "type": "mood[]", "default_value": ["sad", "happy"] }),
         json!({ "data_type": "ARRAY", "format": "_mood", "enums": ["sad", "happy"], "default_value": "'{sad,happy}'::mood[]" })),
        (json!({ "type": "jsonb", "default_value": { "a": [1, "it's"] } }),
         json!({ "default_value": "'{\"a\": [1, \"it''s\"]}'::jsonb" })),
        (json!({ "type": "bool", "default_value": true, "is_unique": true, "comment": "yes" }),
         json!({ "default_value": "true", "is_unique": true, "comment": "yes" })),
        (json!({ "type": "text", "default_value": null }), json!({ "default_value": null, "is_nullable": true })),
        (json!({ "type": "timestamp(3) with time zone", "default_value": "now()", "default_value_format": "expression" }),
         json!({ "full_type": "timestamp(3) with time zone", "default_value": "now()" })),
        (json!({ "type": "int4", "generated": "id * 2" }), json!({ "is_generated": true, "default_value": "(id * 2)" })),
        (json!({ "type": "varchar", "check": "c8 <> ''" }), json!({ "check": "c8::text <> ''::text" })),
    ]
    .into_iter()
    .enumerate()
    .map(|(index, (body, expected))| ((format!("c{index}"), body), expected))
    {
        let (name, body) = body;
        has(&add(&name, body).await, expected);
    }

    let plain = add("plain", json!({ "type": "text" })).await;
    let path = format!("/columns/{}", id(&plain));
    for (change, expected) in [
        (
            json!({ "is_nullable": false, "is_unique": true, "check": "plain <> 'x'" }),
            json!({ "is_nullable": false, "is_unique": true, "check": "plain <> 'x'::text" }),
        ),
        (
            json!({ "is_nullable": true, "is_unique": false, "check": null }),
            json!({ "is_nullable": true, "is_unique": false, "check": null }),
        ),
        (
            json!({ "default_value": "5" }),
            json!({ "default_value": "'5'::text" }),
        ),
        (
            json!({ "type": "int8", "default_value": 6 }),
            json!({ "format": "int8", "default_value": "'6'::bigint" }),
        ),
        (
            json!({ "drop_default": true }),
            json!({ "default_value": null }),
        ),
        (
            json!({ "is_nullable": false, "is_identity": true }),
            json!({ "is_identity": true, "identity_generation": "BY DEFAULT" }),
        ),
        (
            json!({ "identity_generation": "ALWAYS" }),
            json!({ "identity_generation": "ALWAYS" }),
        ),
        (
            json!({ "is_identity": false }),
            json!({ "is_identity": false, "identity_generation": null }),
        ),
        (json!({ "comment": "said" }), json!({ "comment": "said" })),
        (json!({ "comment": null }), json!({ "comment": null })),
        (json!({}), json!({ "name": "plain" })),
    ] {
        has(&catalog.patch(&path, change).await, expected);
    }
}

#[tokio::test]
async fn tables_have_what_was_asked_for() {
    let catalog = Catalog::start().await;
    catalog.sql("create schema other").await;
    let made = catalog
        .post("/tables", json!({
            "name": "t",
            "columns": [
                { "name": "a", "type": "int4", "is_primary_key": true },
                { "name": "b", "type": "int4", "is_primary_key": true },
                { "name": "c", "type": "int4" },
            ],
            "foreign_keys": [{ "name": "fk", "columns": ["c", "b"], "referenced_table": "t", "on_delete": "SET NULL" }],
        }))
        .await;
    let keys: Vec<&Value> = made["primary_keys"]
        .as_array()
        .expect("keys")
        .iter()
        .map(|key| &key["name"])
        .collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(made["relationships"].as_array().map(Vec::len), Some(2));
    let path = format!("/tables/{}", id(&made));
    catalog
        .sql("alter table t drop constraint fk; create unique index u on t (a)")
        .await;
    for (change, expected) in [
        (
            json!({ "rls_enabled": true, "rls_forced": true }),
            json!({ "rls_enabled": true, "rls_forced": true }),
        ),
        (
            json!({ "rls_enabled": false, "rls_forced": false }),
            json!({ "rls_enabled": false, "rls_forced": false }),
        ),
        (
            json!({ "replica_identity": "FULL" }),
            json!({ "replica_identity": "FULL" }),
        ),
        (
            json!({ "replica_identity": "INDEX", "replica_identity_index": "u" }),
            json!({ "replica_identity": "INDEX" }),
        ),
        (json!({ "comment": "x" }), json!({ "comment": "x" })),
        (json!({ "comment": null }), json!({ "comment": null })),
        (json!({ "primary_keys": [] }), json!({ "primary_keys": [] })),
        (
            json!({ "schema": "other", "name": "moved" }),
            json!({ "schema": "other", "name": "moved" }),
        ),
    ] {
        has(&catalog.patch(&path, change).await, expected);
    }
    let keyed = catalog
        .patch(&path, json!({ "primary_keys": [{ "name": "b" }] }))
        .await;
    assert_eq!(keyed["primary_keys"][0]["name"], "b");
    catalog.patch(&path, json!({ "realtime": true })).await;
    let published = catalog.get("/publications").await;
    assert!(published.to_string().contains("\"moved\""), "{published}");
    catalog.patch(&path, json!({ "realtime": false })).await;
    let body = json!({ "replica_identity": "INDEX" });
    catalog.refused(Method::PATCH, &path, Some(body), 400).await;
}

#[tokio::test]
async fn functions_keep_what_is_not_changed() {
    let catalog = Catalog::start().await;
    let made = catalog
        .post("/functions", json!({
            "name": "f", "args": ["a int default 1", "b text default ')'"], "return_type": "setof int",
            "language": "plpgsql", "behavior": "STABLE", "security_definer": true,
            "config_params": { "search_path": "public, \"$user\"", "application_name": "it's = so" },
            "definition": "begin return query select a; end -- $function$ \\",
        }))
        .await;
    has(
        &made,
        json!({
            "argument_types": "a integer DEFAULT 1, b text DEFAULT ')'::text", "behavior": "STABLE",
            "security_definer": true, "is_set_returning_function": true, "return_type": "SETOF integer",
            "definition": "begin return query select a; end -- $function$ \\",
            "config_params": { "search_path": "public, \"$user\"", "application_name": "it's = so" },
        }),
    );
    assert_eq!(made["args"][1]["has_default"], true);
    let path = format!("/functions/{}", id(&made));
    catalog.sql("alter function f rows 7 cost 9 strict").await;
    let changed = catalog
        .patch(&path, json!({ "definition": "begin return; end", "name": "g", "behavior": "VOLATILE", "config_params": {} }))
        .await;
    has(
        &changed,
        json!({ "definition": "begin return; end", "name": "g", "behavior": "VOLATILE", "config_params": null, "prorows": 7.0 }),
    );
    let statement = changed["complete_statement"].as_str().expect("a statement");
    assert!(
        statement.contains("STRICT") && statement.contains("COST 9"),
        "{statement}"
    );
    catalog
        .sql("create function atomic(a int) returns int begin atomic select a; end")
        .await;
    let functions = catalog.get("/functions?included_schemas=public").await;
    let atomic = functions
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["name"] == "atomic");
    let path = format!("/functions/{}", id(atomic.expect("the function")));
    catalog
        .refused(
            Method::PATCH,
            &path,
            Some(json!({ "definition": "select 2" })),
            400,
        )
        .await;
    has(
        &catalog
            .patch(&path, json!({ "security_definer": true }))
            .await,
        json!({ "security_definer": true }),
    );
}

#[tokio::test]
async fn types_policies_triggers_and_publications_change() {
    let catalog = Catalog::start().await;
    catalog
        .sql("create table t (a int); create table u (a int)")
        .await;
    let mood = catalog
        .post(
            "/types",
            json!({ "name": "mood", "kind": "enum", "enums": ["a", "c"] }),
        )
        .await;
    let path = format!("/types/{}", id(&mood));
    let changed = catalog
        .patch(
            &path,
            json!({
                "rename_values": [{ "from": "a", "to": "it's" }],
                "add_values": [{ "value": "b", "before": "c" }, { "value": "d" }],
            }),
        )
        .await;
    assert_eq!(changed["enums"], json!(["it's", "b", "c", "d"]));
    let pair = catalog
        .post("/types", json!({ "name": "pair", "kind": "composite",
            "attributes": [{ "name": "x y", "type": "int4" }, { "name": "m", "type": "public.mood" }] }))
        .await;
    assert_eq!(pair["attributes"][0]["name"], "x y");
    let domain = catalog
        .post("/types", json!({ "name": "mail", "kind": "domain", "base_type": "text", "check": "value like '%@%'", "comment": "c" }))
        .await;
    has(
        &domain,
        json!({ "kind": "domain", "base_type": "text", "comment": "c" }),
    );
    catalog
        .refused(
            Method::PATCH,
            &format!("/types/{}", id(&domain)),
            Some(json!({ "add_values": [{ "value": "x" }] })),
            400,
        )
        .await;

    let policy = catalog
        .post("/policies", json!({ "name": "p", "table": "t", "action": "RESTRICTIVE", "command": "UPDATE",
            "roles": ["authenticated", "anon"], "definition": "a > 0 -- always", "check": "a > 1" }))
        .await;
    has(
        &policy,
        json!({ "action": "RESTRICTIVE", "command": "UPDATE", "definition": "(a > 0)", "check": "(a > 1)", "roles": ["anon", "authenticated"] }),
    );
    let changed = catalog
        .patch(&format!("/policies/{}", id(&policy)), json!({ "definition": "true", "check": "false", "roles": ["public"], "comment": "why" }))
        .await;
    has(
        &changed,
        json!({ "definition": "true", "check": "false", "roles": ["public"], "comment": "why" }),
    );

    catalog.post("/functions", json!({ "name": "f", "language": "plpgsql", "return_type": "trigger", "definition": "begin return null; end" })).await;
    let trigger = catalog
        .post("/triggers", json!({ "name": "x", "table": "t", "function_name": "f", "activation": "AFTER", "events": ["TRUNCATE", "DELETE"] }))
        .await;
    has(
        &trigger,
        json!({ "orientation": "STATEMENT", "events": ["DELETE", "TRUNCATE"], "enabled_mode": "ORIGIN", "condition": null }),
    );
    for mode in ["DISABLED", "REPLICA", "ALWAYS", "ORIGIN"] {
        let changed = catalog
            .patch(
                &format!("/triggers/{}", id(&trigger)),
                json!({ "enabled_mode": mode }),
            )
            .await;
        assert_eq!(changed["enabled_mode"], mode);
    }

    let publication = catalog
        .post(
            "/publications",
            json!({ "name": "p", "publish_insert": true, "publish_delete": true, "tables": ["t"] }),
        )
        .await;
    has(
        &publication,
        json!({ "publish_insert": true, "publish_update": false, "publish_delete": true }),
    );
    let path = format!("/publications/{}", id(&publication));
    let changed = catalog
        .patch(
            &path,
            json!({ "tables": ["public.u", "public.t"], "publish_insert": false }),
        )
        .await;
    has(
        &changed,
        json!({ "publish_insert": false, "publish_delete": true }),
    );
    assert_eq!(changed["tables"].as_array().map(Vec::len), Some(2));
    let emptied = catalog.patch(&path, json!({ "tables": [] })).await;
    assert_eq!(emptied["tables"], json!([]));
}

#[tokio::test]
async fn constraints_schemas_and_extensions_change() {
    let catalog = Catalog::start().await;
    catalog.sql("create table p (id int primary key); create table t (a int, b int); insert into t values (1, 1)").await;
    let table = catalog.table("public", "t").await;
    let add = |body: Value| {
        let mut body = body;
        body["table_id"] = table["id"].clone();
        let catalog = &catalog;
        async move { catalog.post("/constraints", body).await }
    };
    let unique =
        add(json!({ "kind": "unique", "columns": ["a", "b"], "nulls_not_distinct": true })).await;
    has(
        &unique,
        json!({ "kind": "unique", "columns": ["a", "b"], "definition": "UNIQUE NULLS NOT DISTINCT (a, b)" }),
    );
    let check = add(json!({ "kind": "check", "expression": "a < b + 1", "name": "order" })).await;
    has(&check, json!({ "kind": "check", "name": "order" }));
    let key = add(json!({ "kind": "foreign_key", "columns": ["a"], "referenced_table": "p", "on_update": "SET NULL", "not_valid": true, "is_deferrable": true })).await;
    has(
        &key,
        json!({ "on_update": "SET NULL", "is_validated": false, "is_deferrable": true, "referenced_table": "p", "referenced_columns": ["id"] }),
    );
    let path = format!("/constraints/{}", id(&key));
    let refused = catalog
        .refused(Method::PATCH, &path, Some(json!({ "validate": true })), 400)
        .await;
    assert_eq!(refused["code"], "23503");
    catalog.sql("insert into p values (1)").await;
    has(
        &catalog
            .patch(&path, json!({ "validate": true, "comment": "c" }))
            .await,
        json!({ "is_validated": true, "comment": "c" }),
    );
    let primary = add(json!({ "kind": "primary_key", "columns": ["b"] })).await;
    has(&primary, json!({ "kind": "primary_key", "columns": ["b"] }));
    let index = catalog.get("/indexes?included_schemas=public").await;
    let of_key = index
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["is_primary"] == true && one["table"] == "t");
    let path = format!("/indexes/{}", id(of_key.expect("an index")));
    catalog.refused(Method::DELETE, &path, None, 400).await;

    let schema = catalog.post("/schemas", json!({ "name": "s" })).await;
    has(&schema, json!({ "owner": "postgres" }));
    catalog.sql("create table s.t ()").await;
    let path = format!("/schemas/{}", id(&schema));
    catalog.refused(Method::DELETE, &path, None, 409).await;
    let found = catalog.get(&format!("{path}/dependents")).await;
    assert_eq!(found["total"], 1);
    catalog.delete(&format!("{path}?cascade=true")).await;

    let installed = catalog
        .post(
            "/extensions",
            json!({ "name": "citext", "schema": "extensions" }),
        )
        .await;
    has(&installed, json!({ "schema": "extensions" }));
    catalog.sql("create table with_citext (a citext)").await;
    let found = catalog.get("/extensions/citext/dependents").await;
    assert!(found.to_string().contains("with_citext"), "{found}");
    catalog
        .refused(Method::DELETE, "/extensions/citext", None, 409)
        .await;
    catalog
        .patch("/extensions/citext", json!({ "update": true }))
        .await;
    catalog.delete("/extensions/citext?cascade=true").await;
}
