//! `definitions`: one object per relation, one property per column.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::document::{Schema, SwaggerType};
use super::pg_type;
use crate::schema_cache::{Column, Link, Relationship, Table};

pub(super) fn of_tables<'a>(
    tables: &[&'a Table],
    relationships: &dyn Fn(&Table) -> &'a [Relationship],
) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
    tables.iter().map(|table| {
        let foreign_keys = foreign_keys(table, relationships(table));
        (&*table.name.name, of_table(table, &foreign_keys))
    })
}

fn of_table<'a>(table: &'a Table, foreign_keys: &ForeignKeys<'_>) -> Schema<'a> {
    let property = |column: &'a Column| (&*column.name, of_column(table, column, foreign_keys));
    let not_null = table.columns.iter().filter(|column| !column.is_nullable);
    Schema {
        description: table.comment.as_deref().map(Cow::Borrowed),
        properties: table.columns.iter().map(property).collect(),
        required: not_null.map(|column| &*column.name).collect(),
        type_: Some(SwaggerType::Object),
        ..Schema::default()
    }
}

fn of_column<'a>(table: &Table, column: &'a Column, foreign_keys: &ForeignKeys<'_>) -> Schema<'a> {
    Schema {
        default: column
            .default
            .as_deref()
            .and_then(|expression| default_value(&column.base_type, expression)),
        description: description(table, column, foreign_keys),
        labels: &column.enum_labels,
        max_length: column.max_length,
        ..pg_type::schema(&column.base_type)
    }
}

/// The comment, then notes on keys, whose tags code generators parse.
fn description<'a>(
    table: &Table,
    column: &'a Column,
    foreign_keys: &ForeignKeys<'_>,
) -> Option<Cow<'a, str>> {
    let primary_key = table
        .primary_key
        .contains(&column.name)
        .then(|| "\nThis is a Primary Key.<pk/>".to_owned());
    let foreign_key = foreign_keys.get(&*column.name).map(|(table, column)| {
        format!(
            "\nThis is a Foreign Key to `{table}.{column}`.<fk table='{table}' column='{column}'/>"
        )
    });
    let notes: String = primary_key.into_iter().chain(foreign_key).collect();

    match (column.comment.as_deref(), &*notes) {
        (comment, "") => comment.map(Cow::Borrowed),
        (Some(comment), notes) => Some(format!("{comment}\n\nNote:{notes}").into()),
        (None, notes) => Some(format!("Note:{notes}").into()),
    }
}

/// By column: the relation and column that its single-column foreign key references.
type ForeignKeys<'a> = HashMap<&'a str, (&'a str, &'a str)>;

/// Keys within the schema. Those that reference tables win over those that reference views.
fn foreign_keys<'a>(table: &Table, relationships: &'a [Relationship]) -> ForeignKeys<'a> {
    let (to_views, to_tables): (Vec<_>, Vec<_>) = relationships
        .iter()
        .filter(|relationship| relationship.foreign_table.schema == table.name.schema)
        .partition(|relationship| relationship.foreign_table_is_view);

    let mut foreign_keys = ForeignKeys::new();
    for relationship in to_tables.into_iter().chain(to_views) {
        let (Link::ManyToOne(join)
        | Link::OneToOne {
            join,
            is_parent: false,
        }) = &relationship.link
        else {
            continue;
        };
        if let [(column, foreign_column)] = &*join.columns {
            foreign_keys
                .entry(column)
                .or_insert((&relationship.foreign_table.name, foreign_column));
        }
    }
    foreign_keys
}

/// A default as JSON: any expression for text types, otherwise only what is valid JSON as it is.
///
/// So `now()` becomes `"now()"`. As in PostgREST, quotes and backslashes are not escaped; if that
/// is not JSON, no default is shown.
fn default_value(pg_type: &str, expression: &str) -> Option<Box<RawValue>> {
    if pg_type::swagger_type(pg_type) != Some(SwaggerType::String) {
        return serde_json::from_str(expression).ok();
    }
    let without_cast = expression
        .strip_suffix(pg_type)
        .and_then(|rest| rest.strip_suffix("::"));
    let text = match without_cast {
        Some(literal) => literal.trim_matches('\''),
        None => expression,
    };
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::{column, many_to_one, one_to_one, table};
    use super::*;

    fn definition(table: &Table, relationships: &[Relationship]) -> Value {
        json!(of_table(table, &foreign_keys(table, relationships)))
    }

    #[test]
    fn a_table_lists_its_columns_and_requires_those_without_null() {
        let films = Table {
            comment: Some("All films".into()),
            primary_key: vec!["id".into()],
            columns: vec![
                Column {
                    comment: Some("Its number".into()),
                    is_nullable: false,
                    ..column("id", "integer")
                },
                Column {
                    comment: Some("On the poster".into()),
                    max_length: Some(80),
                    ..column("title", "character varying")
                },
                column("director_id", "bigint"),
                Column {
                    enum_labels: vec!["G".into(), "PG".into()],
                    ..column("rating", "app.rating")
                },
                column("tags", "text[]"),
                column("extra", "jsonb"),
            ],
            ..table("films")
        };
        let relationships = [many_to_one("films", "director_id", "directors", "id")];

        let expected = json!({
            "type": "object",
            "description": "All films",
            "required": ["id"],
            "properties": {
                "id": {
                    "description": "Its number\n\nNote:\nThis is a Primary Key.<pk/>",
                    "format": "int32",
                    "type": "integer",
                },
                "title": {
                    "description": "On the poster",
                    "format": "character varying",
                    "maxLength": 80,
                    "type": "string",
                },
                "director_id": {
                    "description": "Note:\nThis is a Foreign Key to `directors.id`.\
                                    <fk table='directors' column='id'/>",
                    "format": "int64",
                    "type": "integer",
                },
                "rating": { "enum": ["G", "PG"], "format": "app.rating", "type": "string" },
                "tags": { "format": "text[]", "type": "array", "items": { "type": "string" } },
                "extra": { "format": "jsonb" },
            },
        });
        assert_eq!(definition(&films, &relationships), expected);
    }

    #[test]
    fn a_table_without_columns_is_just_an_object() {
        assert_eq!(
            definition(&table("empty"), &[]),
            json!({ "type": "object" })
        );
    }

    #[test]
    fn notes_name_the_key_of_a_column() {
        let films = Table {
            primary_key: vec!["id".into()],
            columns: vec![column("id", "integer")],
            ..table("films")
        };
        let to = |table: &str, is_view: bool| Relationship {
            foreign_table_is_view: is_view,
            ..many_to_one("films", "id", table, "number")
        };
        let note = |table: &str| {
            format!(
                "\nThis is a Foreign Key to `{table}.number`.<fk table='{table}' column='number'/>"
            )
        };
        let check = |relationships: &[Relationship], foreign_key: &str| {
            let description =
                definition(&films, relationships)["properties"]["id"]["description"].take();
            let expected = format!("Note:\nThis is a Primary Key.<pk/>{foreign_key}");
            assert_eq!(description, json!(expected));
        };

        check(&[to("works", false)], &note("works"));
        check(&[to("a_view", true), to("works", false)], &note("works"));
        check(&[to("a_view", true)], &note("a_view"));
        check(
            &[one_to_one("films", "id", "works", "number", false)],
            &note("works"),
        );
        // The key is on the other side.
        check(&[one_to_one("films", "id", "works", "number", true)], "");
        // Keys of other columns, of several columns, and into other schemas.
        check(&[many_to_one("films", "title", "works", "number")], "");
        let mut two_columns = to("works", false);
        if let Link::ManyToOne(join) = &mut two_columns.link {
            join.columns.push(("title".into(), "title".into()));
        }
        check(&[two_columns], "");
        let mut elsewhere = to("works", false);
        elsewhere.foreign_table.schema = "private".into();
        check(&[elsewhere], "");
    }

    #[test]
    fn long_numbers_keep_their_digits() {
        let shown = default_value("numeric", "12345678901234567890.12345678901234567890");

        let digits = shown.as_deref().map(RawValue::get);
        assert_eq!(digits, Some("12345678901234567890.12345678901234567890"));
    }

    #[test]
    fn defaults_are_shown_when_they_are_constants_or_text() {
        let check = |pg_type: &str, expression: &str, expected: Option<Value>| {
            let shown = default_value(pg_type, expression).map(|value| json!(value));
            assert_eq!(shown, expected, "{expression}");
        };

        check("text", "'default'::text", Some(json!("default")));
        check("date", "'1900-01-01'::date", Some(json!("1900-01-01")));
        check("app.mood", "'sad'::app.mood", Some(json!("sad")));
        check("timestamp with time zone", "now()", Some(json!("now()")));
        check("text", "'it''s'::text", Some(json!("it''s")));
        check("text", "'x'::app.domain", Some(json!("'x'::app.domain")));
        check("text", r#"'say "hi"'::text"#, None);
        check("text", r"'a\tb'::text", Some(json!("a\tb")));
        check("boolean", "false", Some(json!(false)));
        check("integer", "42", Some(json!(42)));
        check("numeric", "42.2", Some(json!(42.2)));
        check("integer", "'-1'::integer", None);
        check("integer", "(1 + 1)", None);
        check("bigint", "nextval('films_id_seq'::regclass)", None);
        check("jsonb", "'{}'::jsonb", None);
        check("text[]", "'{}'::text[]", None);
    }
}
