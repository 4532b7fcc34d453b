//! Lists: what is in them, pages, and that they are never older than the last change.

use http::Method;
use serde_json::{Value, json};

use crate::app::{Catalog, id};

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(|one| one["name"].as_str()).collect()
}

#[tokio::test]
async fn a_list_has_what_was_committed_before_it() {
    let catalog = Catalog::start().await;
    for round in 0..20 {
        catalog
            .sql(&format!("create table t{round} (id int)"))
            .await;
        let listed = catalog.get("/tables?included_schemas=public").await;
        assert_eq!(names(&listed).len(), round + 1);

        catalog
            .sql(&format!("alter table t{round} add note text"))
            .await;
        let table = catalog.table("public", &format!("t{round}")).await;
        assert_eq!(names(&table["columns"]), ["id", "note"]);
    }
    catalog.sql("comment on table t0 is 'first'").await;
    assert_eq!(catalog.table("public", "t0").await["comment"], "first");
    catalog.sql("create policy p on t0 using (true)").await;
    assert_eq!(
        names(&catalog.get("/policies?included_schemas=public").await),
        ["p"]
    );
    catalog
        .sql("grant select on t0 to anon with grant option")
        .await;
    let granted = catalog
        .get("/table-privileges?included_schemas=public")
        .await;
    assert!(granted.to_string().contains("\"is_grantable\":true"));
    catalog.sql("drop policy p on t0").await;
    assert_eq!(
        catalog.get("/policies?included_schemas=public").await,
        json!([])
    );
}

#[tokio::test]
async fn rows_that_come_are_seen_without_a_change_of_the_schema() {
    let catalog = Catalog::start().await;
    catalog.sql("create table t (note text)").await;
    let before = catalog.table("public", "t").await["bytes"].as_u64();
    catalog
        .sql("insert into t select repeat('x', 100) from generate_series(1, 1000)")
        .await;
    let grown = plinth_testkit::until_some(async || {
        let table = catalog.table("public", "t").await;
        (table["bytes"].as_u64() > before).then_some(table)
    })
    .await;
    let size = grown["size"].as_str();
    assert!(size.is_some_and(|size| size.ends_with("kB")), "{grown}");
}

#[tokio::test]
async fn a_locked_table_does_not_hold_up_the_list() {
    let catalog = Catalog::start().await;
    catalog.sql("create table t (note text)").await;
    catalog.get("/tables").await;
    let project = catalog
        .app
        .open(&plinth_project::ProjectName::Default)
        .await;
    let other = project.db.as_owner().await.expect("a connection");
    other
        .batch_execute("begin; lock table t in access exclusive mode")
        .await
        .expect("a lock");

    let listed = catalog.get("/tables?included_schemas=public").await;

    assert_eq!(names(&listed), ["t"]);
}

#[tokio::test]
async fn pages_and_schemas() {
    let catalog = Catalog::start().await;
    catalog
        .sql("create schema s; create table s.a (); create table s.b (); create table c (); create table d ()")
        .await;
    let list = async |query: &str| catalog.get(&format!("/tables?{query}")).await;

    assert_eq!(
        names(&list("included_schemas=public,s").await),
        ["c", "d", "a", "b"]
    );
    assert_eq!(
        names(&list("included_schemas=public,s&limit=2&offset=1").await),
        ["d", "a"]
    );
    assert!(!names(&list("excluded_schemas=s").await).contains(&"a"));
    assert_eq!(names(&list("included_schemas=s&offset=9").await), [""; 0]);
    assert!(names(&list("include_system_schemas=true").await).contains(&"pg_class"));
    assert!(names(&list("included_schemas=pg_catalog").await).contains(&"pg_class"));
    assert!(!names(&list("").await).contains(&"pg_class"));
    let without = list("included_schemas=s&include_columns=false").await;
    assert!(without[0].get("columns").is_none(), "{without}");
    for bad in ["limit=-1", "limit=x", "include_columns=perhaps"] {
        catalog
            .refused(Method::GET, &format!("/tables?{bad}"), None, 400)
            .await;
    }
}

#[tokio::test]
async fn every_kind_is_listed_and_found_by_its_id() {
    let catalog = Catalog::start().await;
    catalog
        .sql(
            "create type mood as enum ('sad', 'happy');
             create table t (id int primary key, m mood, check (id > 0));
             create view v as select * from t;
             create materialized view mv as select * from t;
             create function f() returns trigger language plpgsql as 'begin return new; end';
             create trigger tr before update of m on t for each row when (old.m is distinct from new.m)
                 execute function f('a\u{e9}', '', 'b');
             create policy p on t to anon using (true)",
        )
        .await;
    for kind in [
        "schemas",
        "tables",
        "views",
        "materialized-views",
        "indexes",
        "constraints",
        "functions",
        "triggers",
        "policies",
        "types",
        "publications",
        "roles",
        "columns",
    ] {
        let list = catalog.get(&format!("/{kind}")).await;
        let first = list.as_array().and_then(|list| list.last()).expect(kind);
        let mut found = catalog.get(&format!("/{kind}/{}", id(first))).await;
        let mut first = first.clone();
        for volatile in [
            "bytes",
            "size",
            "active_connections",
            "live_rows_estimate",
            "scans",
        ] {
            for object in [&mut found, &mut first] {
                if let Some(members) = object.as_object_mut() {
                    members.remove(volatile);
                }
            }
        }
        assert_eq!(found, first, "{kind}");
        for unknown in ["4294967295", "0", "99999999999999", "x", "-1"] {
            let unknown = if kind == "columns" {
                format!("{unknown}.1")
            } else {
                unknown.to_owned()
            };
            catalog
                .refused(Method::GET, &format!("/{kind}/{unknown}"), None, 404)
                .await;
        }
    }
    let triggers = catalog.get("/triggers?included_schemas=public").await;
    assert_eq!(triggers[0]["condition"], "(old.m IS DISTINCT FROM new.m)");
    assert_eq!(triggers[0]["function_args"], json!(["a\u{e9}", "", "b"]));
    assert_eq!(triggers[0]["update_columns"], json!(["m"]));
    catalog
        .refused(Method::GET, "/extensions/nonsense", None, 404)
        .await;
    let extension = catalog.get("/extensions/plpgsql").await;
    assert_eq!(extension["schema"], "pg_catalog");
    let version = catalog.get("/config/version").await;
    assert!(version["version_number"].as_i64() >= Some(150_000));
    let config = catalog.get("/config").await;
    assert!(config.as_array().is_some_and(|all| all.len() > 300));
}

#[tokio::test]
async fn the_types_of_a_database_are_those_of_its_tables() {
    let catalog = Catalog::start().await;
    catalog
        .sql(
            "create type mood as enum ('sad', 'very happy');
             create type pair as (a int, m mood);
             create domain short as varchar(3);
             create table parents (id int8 generated always as identity primary key);
             create table \"my todos\" (
                 id uuid primary key, parent int8 unique references parents, m mood[], p pair,
                 s short not null, j jsonb not null, n numeric default 1 not null);
             create function add(b int, a int default 1) returns int language sql as 'select 1';
             create function all_todos() returns setof \"my todos\" language sql as 'select * from \"my todos\"';
             create function shout(\"my todos\") returns text language sql as 'select 1'",
        )
        .await;

    let path =
        "/generators/typescript?included_schemas=public&detect_one_to_one_relationships=true";
    let reply = catalog.send(Method::GET, path, None).await;

    assert_eq!(reply.status, 200);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let table = "      \"my todos\": {
        Row: {
          id: string
          j: NonNullable<Json>
          m: Database[\"public\"][\"Enums\"][\"mood\"][] | null
          n: number
          p: Database[\"public\"][\"CompositeTypes\"][\"pair\"] | null
          parent: number | null
          s: string
          shout: string | null
        }
        Insert: {
          id: string
          j: NonNullable<Json>
          m?: Database[\"public\"][\"Enums\"][\"mood\"][] | null
          n?: number
          p?: Database[\"public\"][\"CompositeTypes\"][\"pair\"] | null
          parent?: number | null
          s: string
        }
";
    assert!(text.contains(table), "{text}");
    for part in [
        "isOneToOne: true\n            referencedRelation: \"parents\"",
        "id?: never",
        "mood: \"sad\" | \"very happy\"",
        "mood: [\"sad\", \"very happy\"],",
        "Args: { a?: number; b: number }\n        Returns: number",
        "to: \"my todos\"\n          isOneToOne: false\n          isSetofReturn: true",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("  auth: {"), "{text}");
}
