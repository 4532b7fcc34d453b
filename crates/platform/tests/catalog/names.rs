//! Names that need care, in every place where a name is taken: what is made has exactly that name, and
//! is found, changed and dropped by it.

use http::Method;
use serde_json::{Value, json};

use crate::app::{Catalog, id};

/// Quotes, dots, SQL, emoji, control characters, directions, the longest name in bytes.
const NAMES: [&str; 12] = [
    "plain",
    "Capital Case",
    "a\"b",
    "it's",
    "a.b",
    "x\"; drop table victims; --",
    "$$ $1 %I %s \\",
    "emoji 🙂",
    "tab\tand\nnewline\u{1}",
    "\u{202e}rtl\u{200b}zero",
    "select",
    "ééééééééééééééééééééééééééééééé!",
];

/// Creates it, sees its name, renames it there and back, and returns it.
async fn named(catalog: &Catalog, kind: &str, name: &str, mut body: Value) -> Value {
    body["name"] = json!(name);
    let made = catalog.post(&format!("/{kind}"), body).await;
    assert_eq!(made["name"], name, "{kind}");
    let path = format!("/{kind}/{}", id(&made));
    let renamed = catalog.patch(&path, json!({ "name": "other" })).await;
    assert_eq!(renamed["name"], "other", "{kind}");
    let back = catalog.patch(&path, json!({ "name": name })).await;
    assert_eq!(back["name"], name, "{kind}");
    back
}

#[tokio::test]
async fn any_name_can_be_given_to_anything() {
    let catalog = Catalog::start().await;
    catalog.sql("create table victims ()").await;
    for name in NAMES {
        let schema = named(&catalog, "schemas", name, json!({ "comment": name })).await;
        assert_eq!(schema["comment"], name);
        let type_ = named(
            &catalog,
            "types",
            name,
            // Not beside the table, whose row type has its name.
            json!({ "kind": "enum", "enums": [name, "b"], "comment": name }),
        )
        .await;
        assert_eq!(type_["enums"], json!([name, "b"]));
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let table_name = format!("{}.{}", quoted(name), quoted(name));
        let full_type = format!("public.{}", quoted(name));
        let table = named(
            &catalog,
            "tables",
            name,
            json!({
                "schema": name, "comment": name, "realtime": true,
                "columns": [
                    { "name": name, "type": "text", "is_primary_key": true, "default_value": name,
                      "comment": name, "check": format!("{} <> ''", quoted(name)) },
                    { "name": "mood", "type": full_type },
                ],
            }),
        )
        .await;
        assert_eq!(table["comment"], name);
        let column = &table["columns"][0];
        assert_eq!(column["comment"], name);
        assert_eq!(table["columns"][1]["enums"], json!([name, "b"]));
        let default = catalog
            .value(&format!(
                "insert into {table_name} default values returning {}",
                quoted(name)
            ))
            .await;
        assert_eq!(default.as_deref(), Some(name));
        named_parts(&catalog, name, &table).await;
        let policy = named(
            &catalog,
            "policies",
            name,
            json!({ "schema": name, "table": name, "roles": ["anon"], "command": "SELECT",
                    "definition": format!("{} = {}", quoted(name), "'it''s'") }),
        )
        .await;
        assert_eq!(policy["roles"], json!(["anon"]));
        let function = named(
            &catalog,
            "functions",
            name,
            json!({ "schema": name, "definition": format!("begin return new; end -- {}", name.replace('\n', " ")),
                    "language": "plpgsql", "return_type": "trigger", "comment": name }),
        )
        .await;
        assert_eq!(function["comment"], name);
        let trigger = named(
            &catalog,
            "triggers",
            name,
            json!({ "schema": name, "table": name, "function_schema": name, "function_name": name,
                    "function_args": [name, ""], "activation": "BEFORE", "orientation": "ROW",
                    "events": ["INSERT", format!("UPDATE OF {}", quoted(name))],
                    "condition": format!("new.{} <> ')'", quoted(name)) }),
        )
        .await;
        assert_eq!(trigger["function_args"], json!([name, ""]));
        assert_eq!(trigger["update_columns"], json!([name]));
        assert!(
            trigger["condition"]
                .as_str()
                .is_some_and(|text| text.contains("<> ')'")),
            "{trigger}"
        );
        let publication = named(
            &catalog,
            "publications",
            name,
            json!({ "publish_insert": true, "tables": if name.contains('.') { json!([]) } else { json!([format!("{name}.{name}")]) } }),
        )
        .await;
        for (kind, object) in [
            ("publications", &publication),
            ("triggers", &trigger),
            ("functions", &function),
            ("policies", &policy),
            ("tables", &table),
            ("types", &type_),
            ("schemas", &schema),
        ] {
            let path = format!("/{kind}/{}", id(object));
            let dropped = catalog.delete(&path).await;
            assert_eq!(dropped["name"], name, "{kind}");
            catalog.refused(Method::GET, &path, None, 404).await;
        }
    }
    catalog.table("public", "victims").await;
}

/// Columns, indexes, constraints and grants of a table.
async fn named_parts(catalog: &Catalog, name: &str, table: &Value) {
    let table_id = &table["id"];
    let column = named(
        catalog,
        "columns",
        "second",
        json!({ "table_id": table_id, "type": "int4", "comment": name }),
    )
    .await;
    assert_eq!(column["comment"], name);
    let index = named(
        catalog,
        "indexes",
        &format!(
            "i{}",
            &name[..name.len() - name.chars().next_back().map_or(0, char::len_utf8)]
        ),
        json!({ "table_id": table_id, "parts": [{ "column": name }, { "column": "second" }],
                "concurrently": false }),
    )
    .await;
    assert_eq!(index["index_attributes"][0]["attribute_name"], name);
    let constraint = named(
        catalog,
        "constraints",
        name,
        json!({ "table_id": table_id, "kind": "foreign_key", "columns": [name],
                "referenced_schema": name, "referenced_table": name, "referenced_columns": [name],
                "on_delete": "CASCADE" }),
    )
    .await;
    assert_eq!(constraint["referenced_columns"], json!([name]));
    assert_eq!(constraint["on_delete"], "CASCADE");
    let grant = |column: Option<&str>| {
        let id = column.map_or(table_id.clone(), |id| json!(id));
        let member = if column.is_some() {
            "column_id"
        } else {
            "relation_id"
        };
        json!([{ member: id, "grantee": "anon", "privilege_type": "UPDATE" }])
    };
    let column_id = id(&table["columns"][0]);
    let granted = catalog.post("/table-privileges", grant(None)).await;
    assert_eq!(granted[0]["name"], name);
    let revoked = catalog
        .ok(Method::DELETE, "/table-privileges", Some(grant(None)))
        .await;
    assert_eq!(revoked[0]["name"], name);
    let granted = catalog
        .post("/column-privileges", grant(Some(&column_id)))
        .await;
    assert_eq!(granted[0]["column_name"], name);
    assert!(granted.to_string().contains("anon"), "{granted}");
    for (kind, object) in [("constraints", &constraint), ("columns", &column)] {
        catalog
            .delete(&format!("/{kind}/{}?cascade=true", id(object)))
            .await;
    }
}
