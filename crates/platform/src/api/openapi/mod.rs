//! The OpenAPI document of `/platform`, generated from the handlers' own types (decision 16).
//!
//! [`Routes`] is the router and the list of operations in one: what is not described does not
//! compile. A handler's extractors say what the request has, its return type what the answer is
//! (`describe.rs`); the schemas come from the wire types. `docs/platform-openapi.json` is the
//! document, and the web application's types are generated from it.

mod describe;
pub(super) mod routing;

use axum::{Json, extract::State};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::Operator;
use crate::{Platform, PlatformError};

pub(super) use describe::{EventStream, Extracted, Lines, Page, TextFile, Untyped};
pub(super) use routing::Routes;

const DESCRIPTION: &str = "Plinth's own endpoints, for the console and the command line. \
    Those that are equal to the Supabase Management API are below /v1 and not part of this document. \
    Times are RFC 3339 in UTC.";

/// Collects schemas while operations are described.
pub(super) struct Schemas {
    /// Of what the server reads.
    pub(super) requests: SchemaGenerator,
    /// Of what it writes.
    pub(super) answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// A type that is both read and written has two schemas, of which the one for requests gets
    /// another name if they differ.
    fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.answers.take_definitions(true);
        for (name, schema) in self.requests.take_definitions(true) {
            match definitions.get(&name) {
                Some(same) if *same == schema => {}
                // A test keeps this from happening.
                Some(_) => drop(definitions.insert(format!("{name}Request"), schema)),
                None => drop(definitions.insert(name, schema)),
            }
        }
        definitions
    }
}

/// The whole document.
pub fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in super::platform_routes().into_operations() {
        let path = format!("/platform{}", operation.path);
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[operation.method.as_str().to_ascii_lowercase()] = operation.describe(&mut schemas);
    }
    paths.sort_keys();
    let mut definitions = schemas.into_definitions();
    definitions.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Plinth platform API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
        },
        "security": [{ "operator": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "operator": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An operator's access token, or a personal access token (sbp_…)",
                },
            },
            "schemas": definitions,
        },
    })
}

/// [`PlatformError`] renders itself, so its schema is written here.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["message", "code"],
        "properties": {
            "message": { "type": "string", "description": "What is wrong, for people." },
            "code": { "type": "string", "description": "See docs/errors.md." },
            "details": { "description": "Depends on the code." },
        },
    })
}

/// `GET /platform/openapi.json`.
pub(super) async fn show(
    _operator: Operator,
    State(_platform): State<Platform>,
) -> Result<Json<Map<String, Value>>, PlatformError> {
    match document() {
        Value::Object(document) => Ok(Json(document)),
        _ => Err(PlatformError::internal("the document is an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> Vec<(String, Value)> {
        let document = document();
        let paths = document["paths"].as_object().expect("paths").clone();
        let named = paths.into_iter().flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods").clone();
            methods
                .into_iter()
                .map(move |(method, operation)| (format!("{method} {path}"), operation))
        });
        named.collect()
    }

    /// All `$ref`s below a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.push(reference.clone());
                }
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_route_is_in_the_document() {
        let source = include_str!("../mod.rs");
        let start = source.find("fn platform_routes").expect("a function");
        let strings = source[start..].split('"').skip(1).step_by(2);
        let routes: Vec<&str> = strings.filter(|text| text.starts_with('/')).collect();
        let document = document();

        assert!(routes.len() > 30, "{routes:?}");
        for route in routes {
            assert!(
                document["paths"].get(format!("/platform{route}")).is_some(),
                "{route}"
            );
        }
    }

    #[test]
    fn ids_of_operations_are_unique() {
        let operations = operations();
        let mut ids: Vec<&str> = operations
            .iter()
            .map(|(_, operation)| operation["operationId"].as_str().expect("an id"))
            .collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);

        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("within the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    /// Two types of one name get numbers, which change with the order of the routes.
    #[test]
    fn types_have_names_of_their_own() {
        let document = document();
        for name in document["components"]["schemas"]
            .as_object()
            .expect("schemas")
            .keys()
        {
            assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
        }
    }

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for (route, operation) in operations() {
            let count = route.matches('{').count();
            let parameters = operation["parameters"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let of_path = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path");
            assert_eq!(of_path.count(), count, "{route}");
        }
    }
}
