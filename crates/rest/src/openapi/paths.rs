//! `paths`: the root, each relation, and (in `rpc`) each function.

use std::borrow::Cow;
use std::iter;

use super::document::{
    Operation, OperationParameter, ParameterName, PathItem, Response, Schema, SwaggerType,
};
use super::{ParamTypes, rpc, summary_and_description};
use crate::schema_cache::{Routine, Table};

pub(super) fn all<'a>(
    tables: &[&'a Table],
    routines: &[&'a Routine],
    param_types: Option<&'a ParamTypes>,
) -> impl Iterator<Item = (String, PathItem<'a>)> {
    let of_tables = tables
        .iter()
        .map(|table| (format!("/{}", table.name.name), of_table(table)));
    let of_routines = routines.iter().map(move |routine| {
        let path = format!("/rpc/{}", routine.name.name);
        (path, rpc::of_routine(routine, param_types))
    });
    iter::once(("/".to_owned(), of_root()))
        .chain(of_tables)
        .chain(of_routines)
}

fn of_root<'a>() -> PathItem<'a> {
    PathItem {
        get: Some(Operation {
            description: None,
            parameters: Vec::new(),
            produces: &["application/openapi+json", "application/json"],
            responses: vec![("200", Response::without_body("OK"))],
            summary: Some("OpenAPI description (this document)"),
            tags: ["Introspection".into()],
        }),
        ..PathItem::default()
    }
}

/// If a relation supports any kind of write, all of them are shown.
fn of_table(table: &Table) -> PathItem<'_> {
    let is_writable = table.is_insertable || table.is_updatable || table.is_deletable;
    PathItem {
        delete: is_writable.then(|| delete(table)),
        get: Some(get(table)),
        patch: is_writable.then(|| patch(table)),
        post: is_writable.then(|| post(table)),
    }
}

fn get(table: &Table) -> Operation<'_> {
    const OPTIONS: [&str; 7] = [
        "select",
        "order",
        "range",
        "rangeUnit",
        "offset",
        "limit",
        "preferCount",
    ];
    let rows = Response {
        description: "OK",
        schema: Some(Box::new(Schema {
            items: Some(Box::new(Schema::of_definition(&table.name.name))),
            type_: Some(SwaggerType::Array),
            ..Schema::default()
        })),
    };
    let parameters = row_filters(table)
        .chain(OPTIONS.map(OperationParameter::common))
        .collect();
    let part_of_the_rows = Response::without_body("Partial Content");
    operation(
        table,
        parameters,
        vec![("200", rows), ("206", part_of_the_rows)],
    )
}

fn post(table: &Table) -> Operation<'_> {
    let parameters = vec![
        body(table),
        OperationParameter::common("select"),
        OperationParameter::common("preferPost"),
    ];
    operation(
        table,
        parameters,
        vec![("201", Response::without_body("Created"))],
    )
}

fn patch(table: &Table) -> Operation<'_> {
    let parameters = row_filters(table)
        .chain([body(table), OperationParameter::common("preferReturn")])
        .collect();
    operation(
        table,
        parameters,
        vec![("204", Response::without_body("No Content"))],
    )
}

fn delete(table: &Table) -> Operation<'_> {
    let parameters = row_filters(table)
        .chain([OperationParameter::common("preferReturn")])
        .collect();
    operation(
        table,
        parameters,
        vec![("204", Response::without_body("No Content"))],
    )
}

fn operation<'a>(
    table: &'a Table,
    parameters: Vec<OperationParameter<'a>>,
    responses: Vec<(&'static str, Response<'a>)>,
) -> Operation<'a> {
    let (summary, description) = summary_and_description(table.comment.as_deref());
    Operation {
        description,
        parameters,
        produces: &[],
        responses,
        summary,
        tags: [Cow::Borrowed(&table.name.name)],
    }
}

fn row_filters(table: &Table) -> impl Iterator<Item = OperationParameter<'_>> {
    table
        .columns
        .iter()
        .map(|column| OperationParameter::Shared {
            name: ParameterName::RowFilter {
                table: &table.name.name,
                column: &column.name,
            },
        })
}

fn body(table: &Table) -> OperationParameter<'_> {
    OperationParameter::Shared {
        name: ParameterName::Body {
            table: &table.name.name,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::{column, table};
    use super::*;

    fn refs(names: &[&str]) -> Value {
        names
            .iter()
            .map(|name| json!({ "$ref": format!("#/parameters/{name}") }))
            .collect()
    }

    #[test]
    fn a_writable_table_has_all_four_methods() {
        let films = Table {
            comment: Some("Films\n\nAll of them\nsince 1895".into()),
            is_deletable: true,
            columns: vec![column("id", "integer"), column("title", "text")],
            ..table("films")
        };

        let operation = |parameters: Value, responses: Value| {
            json!({
                "tags": ["films"],
                "summary": "Films",
                "description": "All of them\nsince 1895",
                "parameters": parameters,
                "responses": responses,
            })
        };
        let no_content = json!({ "204": { "description": "No Content" } });
        let rows = json!({ "type": "array", "items": { "$ref": "#/definitions/films" } });
        let expected = json!({
            "get": operation(
                refs(&[
                    "rowFilter.films.id",
                    "rowFilter.films.title",
                    "select",
                    "order",
                    "range",
                    "rangeUnit",
                    "offset",
                    "limit",
                    "preferCount",
                ]),
                json!({
                    "200": { "description": "OK", "schema": rows },
                    "206": { "description": "Partial Content" },
                }),
            ),
            "post": operation(
                refs(&["body.films", "select", "preferPost"]),
                json!({ "201": { "description": "Created" } }),
            ),
            "patch": operation(
                refs(&["rowFilter.films.id", "rowFilter.films.title", "body.films", "preferReturn"]),
                no_content.clone(),
            ),
            "delete": operation(
                refs(&["rowFilter.films.id", "rowFilter.films.title", "preferReturn"]),
                no_content,
            ),
        });
        assert_eq!(json!(of_table(&films)), expected);
    }

    #[test]
    fn what_cannot_be_written_is_only_read() {
        let path = json!(of_table(&table("totals")));

        assert!(
            path.as_object()
                .is_some_and(|methods| methods.keys().eq(["get"]))
        );
        assert_eq!(path["get"]["tags"], json!(["totals"]));
        assert_eq!(path["get"].get("summary"), None);
        assert_eq!(path["get"].get("description"), None);
    }

    #[test]
    fn one_line_of_comment_is_only_a_summary() {
        let films = Table {
            comment: Some("Films".into()),
            ..table("films")
        };

        let get = json!(get(&films));

        assert_eq!(get["summary"], json!("Films"));
        assert_eq!(get.get("description"), None);
    }
}
