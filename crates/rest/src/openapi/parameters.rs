//! `parameters`: those that all operations share, and for each relation its body and a filter per
//! column.

use super::document::{Location, Parameter, ParameterName, Schema, SwaggerType};
use crate::schema_cache::{Column, Table};

pub(super) fn all<'a>(
    tables: &[&'a Table],
) -> impl Iterator<Item = (ParameterName<'a>, Parameter<'a>)> {
    let common = common()
        .into_iter()
        .map(|(name, parameter)| (ParameterName::Common(name), parameter));
    common.chain(tables.iter().copied().flat_map(of_table))
}

fn of_table(table: &Table) -> impl Iterator<Item = (ParameterName<'_>, Parameter<'_>)> {
    let name = &*table.name.name;
    let row_filters = table.columns.iter().map(move |column| {
        let filter_name = ParameterName::RowFilter {
            table: name,
            column: &column.name,
        };
        (filter_name, row_filter(column))
    });
    [(ParameterName::Body { table: name }, body(name))]
        .into_iter()
        .chain(row_filters)
}

fn common() -> [(&'static str, Parameter<'static>); 11] {
    const PAGES: &str = "Limiting and Pagination";
    [
        ("preferParams", prefer(&[])),
        (
            "preferReturn",
            prefer(&["return=representation", "return=minimal", "return=none"]),
        ),
        ("preferCount", prefer(&["count=none"])),
        (
            "preferPost",
            prefer(&[
                "return=representation",
                "return=minimal",
                "return=none",
                "resolution=ignore-duplicates",
                "resolution=merge-duplicates",
            ]),
        ),
        (
            "select",
            text("select", "Filtering Columns", Location::Query),
        ),
        (
            "on_conflict",
            text("on_conflict", "On Conflict", Location::Query),
        ),
        ("order", text("order", "Ordering", Location::Query)),
        ("range", text("Range", PAGES, Location::Header)),
        (
            "rangeUnit",
            Parameter {
                default: Some("items"),
                ..text("Range-Unit", PAGES, Location::Header)
            },
        ),
        ("offset", text("offset", PAGES, Location::Query)),
        ("limit", text("limit", PAGES, Location::Query)),
    ]
}

fn prefer(choices: &'static [&'static str]) -> Parameter<'static> {
    Parameter {
        choices,
        ..text("Prefer", "Preference", Location::Header)
    }
}

fn text<'a>(name: &'a str, description: &'a str, location: Location) -> Parameter<'a> {
    Parameter {
        description: Some(description),
        location,
        name,
        type_: Some(SwaggerType::String),
        ..Parameter::default()
    }
}

fn body(table: &str) -> Parameter<'_> {
    Parameter {
        description: Some(table),
        location: Location::Body,
        name: table,
        schema: Some(Box::new(Schema::of_definition(table))),
        ..Parameter::default()
    }
}

fn row_filter(column: &Column) -> Parameter<'_> {
    Parameter {
        description: column.comment.as_deref(),
        name: &column.name,
        type_: Some(SwaggerType::String),
        ..Parameter::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::document::Members;
    use super::super::samples::{column, table};
    use super::*;

    fn rendered(tables: &[&Table]) -> Value {
        json!(Members(|| all(tables)))
    }

    #[test]
    fn shared_parameters_are_always_there() {
        let query = |name: &str, description: &str| {
            json!({
                "name": name,
                "description": description,
                "in": "query",
                "required": false,
                "type": "string",
            })
        };
        let header = |name: &str, description: &str, key: &str, value: Value| {
            let mut header = query(name, description);
            header["in"] = json!("header");
            header[key] = value;
            header
        };
        let prefer = |choices: Value| header("Prefer", "Preference", "enum", choices);

        let pages = "Limiting and Pagination";
        let expected = json!({
            "preferParams": header("Prefer", "Preference", "in", json!("header")),
            "preferReturn":
                prefer(json!(["return=representation", "return=minimal", "return=none"])),
            "preferCount": prefer(json!(["count=none"])),
            "preferPost": prefer(json!([
                "return=representation",
                "return=minimal",
                "return=none",
                "resolution=ignore-duplicates",
                "resolution=merge-duplicates",
            ])),
            "select": query("select", "Filtering Columns"),
            "on_conflict": query("on_conflict", "On Conflict"),
            "order": query("order", "Ordering"),
            "range": header("Range", pages, "in", json!("header")),
            "rangeUnit": header("Range-Unit", pages, "default", json!("items")),
            "offset": query("offset", pages),
            "limit": query("limit", pages),
        });
        assert_eq!(rendered(&[]), expected);
    }

    #[test]
    fn a_table_adds_its_body_and_a_filter_per_column() {
        let films = Table {
            columns: vec![
                column("id", "integer"),
                Column {
                    comment: Some("On the poster".into()),
                    ..column("title", "text")
                },
            ],
            ..table("films")
        };

        let parameters = json!(Members(|| of_table(&films)));

        let expected = json!({
            "body.films": {
                "name": "films",
                "description": "films",
                "in": "body",
                "required": false,
                "schema": { "$ref": "#/definitions/films" },
            },
            "rowFilter.films.id": {
                "name": "id",
                "in": "query",
                "required": false,
                "type": "string",
            },
            "rowFilter.films.title": {
                "name": "title",
                "description": "On the poster",
                "in": "query",
                "required": false,
                "type": "string",
            },
        });
        assert_eq!(parameters, expected);
        let all = rendered(&[&films]);
        assert_eq!(all["body.films"], expected["body.films"]);
        assert_eq!(all["limit"]["name"], json!("limit"));
    }
}
