//! Tables, views, columns and primary keys.

use super::{ODD, cache};
use crate::schema_cache::Table;

#[tokio::test]
async fn partitions_and_other_schemas_are_invisible() {
    let cache = cache().await;

    assert!(cache.table("api", "events").is_some());
    assert!(cache.table("api", "events_2024").is_none());
    assert!(cache.table("private", "books").is_none());
    assert!(cache.table("api", "Clients").is_none());
    assert_eq!(cache.tables_in("private").count(), 0);
    let names: Vec<_> = cache
        .tables_in(ODD)
        .map(|table| &*table.name.name)
        .collect();
    assert_eq!(names, ["child {view}", "child(2)", "tàble.1"]);
}

#[tokio::test]
async fn columns_have_types_defaults_and_lengths() {
    let cache = cache().await;
    let table = cache.table("api", "kinds").expect("the table");
    let seen: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            let nullable = if column.is_nullable {
                "null"
            } else {
                "not null"
            };
            let default = column.default.as_deref().unwrap_or("-");
            let length = column.max_length.map_or("-".to_owned(), |n| n.to_string());
            let (name, base, nominal) = (&column.name, &column.base_type, &column.nominal_type);
            format!("{name} | {base} | {nominal} | {nullable} | {default} | {length}")
        })
        .collect();

    assert_eq!(
        seen,
        [
            "always | integer | integer | not null | - | -",
            "by_default | bigint | bigint | not null | nextval('api.kinds_by_default_seq') | -",
            "serial | integer | integer | not null | nextval('api.kinds_serial_seq'::regclass) | -",
            "label | character varying | character varying(20) | not null \
             | 'none'::character varying | 20",
            "fixed | character | character(3) | null | - | 3",
            "flags | bit varying | bit varying(5) | null | - | 5",
            "amount | numeric | numeric(10,2) | null | - | -",
            "mood | api.mood | api.mood | null | 'ok'::api.mood | -",
            "moods | api.mood[] | api.mood[] | null | - | -",
            "feeling | api.feeling | api.feeling | null | - | -",
            "level | extra.level | extra.level | null | - | -",
            "number | integer | api.strictly_positive | null | 7 | -",
            "overridden | integer | api.positive | not null | 9 | -",
            "code | character varying | api.code | null | - | 8",
            "period | int4range | int4range | null | - | -",
            "span | api.span | api.span | null | - | -",
            "doubled | numeric | numeric | null | - | -",
            "Odd \"Näme\", {x} \\ (y) | text | text | null | - | -",
        ],
    );
}

#[tokio::test]
async fn enums_show_their_labels_even_through_a_domain() {
    let cache = cache().await;
    let check = |column: &str, expected: &[&str]| {
        let table = cache.table("api", "kinds").expect("the table");
        let column = table.column(column).expect("the column");
        let labels: Vec<_> = column.enum_labels.iter().map(|label| &**label).collect();
        assert_eq!(labels, expected, "{}", column.name);
    };
    check("mood", &["sad", "ok", "happy"]);
    check("feeling", &["sad", "ok", "happy"]);
    check("level", &["low", "high"]);
    check("moods", &[]);
    check("label", &[]);
}

#[tokio::test]
async fn comments_and_defaults_of_views_are_kept() {
    let cache = cache().await;
    let table = cache.table("api", "kinds").expect("the table");
    let view = cache.table("api", "kinds_view").expect("the view");
    let label = |table: &'static Table| table.column("label").expect("the column");

    assert_eq!(table.comment.as_deref(), Some("Of every kind"));
    assert_eq!(label(table).comment.as_deref(), Some("What it says"));
    assert_eq!(
        label(view).default.as_deref(),
        Some("'from the view'::character varying"),
    );
    assert!(label(view).is_nullable);
}

#[tokio::test]
async fn views_can_do_what_postgres_lets_them() {
    let cache = cache().await;
    let check = |name: &str, expected: [bool; 4]| {
        let table = cache.table("api", name).expect(name);
        let seen = [
            table.is_view,
            table.is_insertable,
            table.is_updatable,
            table.is_deletable,
        ];
        assert_eq!(seen, expected, "{name}");
    };
    check("clients", [false, true, true, true]);
    check("events", [false, true, true, true]);
    check("authors", [true, true, true, true]);
    check("books_union", [true, false, false, false]);
    check("author_ids", [true, false, false, false]);
}

#[tokio::test]
async fn primary_keys_shine_through_views() {
    let cache = cache().await;
    let check = |schema: &str, name: &str, expected: &[&str]| {
        let table = cache.table(schema, name).expect(name);
        let key: Vec<_> = table.primary_key.iter().map(|column| &**column).collect();
        assert_eq!(key, expected, "{name}");
    };
    check("api", "clients", &["id"]);
    check("api", "users", &["name", "tenant"]);
    check("api", "seals", &[]);
    check("api", "events", &["day", "id"]);
    check(ODD, "tàble.1", &["id ü"]);
    check("api", "kinds_view", &[]);
    check("api", "authors", &["id"]);
    check("api", "author_ids", &["id"]);
    check("api", "books", &["id"]);
    check("api", "books_with_authors", &["author", "id"]);
    check(
        "api",
        "members_view",
        &["project_id", "tenant", "name", "since"],
    );
    check("api", "books_hidden", &[]);
    check("api", "books_computed", &[]);
    check("api", "books_union", &[]);
    check("api", "no_columns", &[]);
    check("api", "by_rule", &["id"]);
}
