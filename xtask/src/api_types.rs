//! TypeScript types of the platform API, from its OpenAPI document (decision 16).
//!
//! Only what our document uses of JSON Schema is understood; anything else is an error, so that a
//! type is never silently `unknown`.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::workspace;

const DOCUMENT: &str = "docs/platform-openapi.json";
const TYPES: &str = "web/src/lib/platform-api.ts";

const HEADER: &str = "\
// The types of the platform API. Generated from docs/platform-openapi.json by `cargo xtask docs`.

";

/// Writes the types; returns where.
pub(crate) fn write() -> Result<&'static str> {
    let path = workspace::root().join(TYPES);
    fs::write(path, render_committed()?)
        .with_context(|| format!("{TYPES} could not be written"))?;
    Ok(TYPES)
}

/// A sentence if the committed types are not those of the committed document.
pub(crate) fn problems() -> Result<Vec<String>> {
    let written = fs::read_to_string(workspace::root().join(TYPES)).unwrap_or_default();
    if written == render_committed()? {
        return Ok(Vec::new());
    }
    Ok(vec![format!("{TYPES} is stale; run `cargo xtask docs`")])
}

fn render_committed() -> Result<String> {
    let text = fs::read_to_string(workspace::root().join(DOCUMENT))
        .with_context(|| format!("{DOCUMENT} cannot be read"))?;
    let document: Value =
        serde_json::from_str(&text).with_context(|| format!("{DOCUMENT} is not JSON"))?;
    render(&document)
}

fn render(document: &Value) -> Result<String> {
    let mut page = HEADER.to_owned();
    let schemas = document.pointer("/components/schemas");
    for (name, schema) in members(schemas) {
        push_comment(&mut page, schema, "");
        let rendered = type_of(schema, 0).with_context(|| format!("schema {name}"))?;
        page.push_str(&format!("export type {name} = {rendered};\n\n"));
    }
    page.push_str("/** Every operation: its query, body and answer. */\n");
    page.push_str("export type PlatformApi = {\n");
    for (path, item) in members(document.get("paths")) {
        for (method, operation) in members(Some(item)) {
            let name = format!("{} {path}", method.to_uppercase());
            let rendered = operation_type(operation).with_context(|| name.clone())?;
            page.push_str(&format!("  {}: {rendered};\n", quoted(&name)));
        }
    }
    page.push_str("};\n");
    Ok(page)
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn operation_type(operation: &Value) -> Result<String> {
    let mut parts = Vec::new();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query: Vec<&Value> = parameters.filter(|it| it["in"] == "query").collect();
    if !query.is_empty() {
        let mut fields = Vec::new();
        for parameter in query {
            let name = key(parameter["name"].as_str().unwrap_or_default());
            let mark = if parameter["required"] == true {
                ""
            } else {
                "?"
            };
            let schema = type_of(&parameter["schema"], 2)?;
            fields.push(format!("{name}{mark}: {schema}"));
        }
        parts.push(format!("query: {{ {} }}", fields.join("; ")));
    }
    if let Some(body) = operation.pointer("/requestBody/content") {
        parts.push(format!("body: {}", content_type(body)?));
    }
    let answers = members(operation.get("responses"));
    let answer = answers.map(|(_, answer)| answer).next();
    let answer = answer.and_then(|answer| answer.get("content"));
    let answer = match answer {
        Some(content) => content_type(content)?,
        None => "undefined".to_owned(),
    };
    parts.push(format!("answer: {answer}"));
    Ok(format!("{{ {} }}", parts.join("; ")))
}

/// JSON has a type; of a stream, the type of an item; anything else is a text or a blob.
fn content_type(content: &Value) -> Result<String> {
    let Some((media, content)) = members(Some(content)).next() else {
        return Ok("undefined".to_owned());
    };
    match media.as_str() {
        "application/json" | "text/event-stream" | "application/x-ndjson" => {
            type_of(&content["schema"], 2)
        }
        media if media.starts_with("text/") => Ok("string".to_owned()),
        "multipart/form-data" => Ok("FormData".to_owned()),
        _ => Ok("Blob".to_owned()),
    }
}

fn type_of(schema: &Value, depth: usize) -> Result<String> {
    let schema = match schema {
        Value::Bool(true) | Value::Null => return Ok("unknown".to_owned()),
        Value::Object(schema) => schema,
        other => bail!("{other} is no schema"),
    };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return Ok(reference.rsplit('/').next().unwrap_or_default().to_owned());
    }
    if let Some(constant) = schema.get("const") {
        return Ok(literal(constant));
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return Ok(join(values.iter().map(literal), " | "));
    }
    for (name, separator) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
        if let Some(Value::Array(schemas)) = schema.get(name) {
            let types = schemas.iter().map(|schema| type_of(schema, depth));
            let mut types = types.collect::<Result<Vec<_>>>()?;
            if schema.get("properties").is_some() {
                types.push(object_type(schema, depth)?);
            }
            let joined = join(types.into_iter(), separator);
            return Ok(joined);
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => named_type(name, schema, depth),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            let types = names.map(|name| named_type(name, schema, depth));
            Ok(join(types.collect::<Result<Vec<_>>>()?.into_iter(), " | "))
        }
        None => Ok("unknown".to_owned()),
        Some(other) => bail!("{other} is no type"),
    }
}

fn named_type(name: &str, schema: &Map<String, Value>, depth: usize) -> Result<String> {
    Ok(match name {
        "string" | "boolean" | "null" => name.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(items)), _) => {
                let items = items.iter().map(|item| type_of(item, depth));
                format!(
                    "[{}]",
                    join(items.collect::<Result<Vec<_>>>()?.into_iter(), ", ")
                )
            }
            (_, Some(items)) => {
                let items = type_of(items, depth)?;
                if items.contains([' ', '|']) && !items.starts_with('{') {
                    format!("({items})[]")
                } else {
                    format!("{items}[]")
                }
            }
            _ => "unknown[]".to_owned(),
        },
        "object" => object_type(schema, depth)?,
        other => bail!("{other} is no type"),
    })
}

fn object_type(schema: &Map<String, Value>, depth: usize) -> Result<String> {
    let indent = "  ".repeat(depth + 1);
    let required = schema.get("required").and_then(Value::as_array);
    let mut body = String::new();
    for (name, property) in members(schema.get("properties")) {
        let is_required = required.is_some_and(|required| required.iter().any(|it| it == name));
        let mark = if is_required { "" } else { "?" };
        push_comment(&mut body, property, &indent);
        let rendered = type_of(property, depth + 1).with_context(|| format!("property {name}"))?;
        body.push_str(&format!("{indent}{}{mark}: {rendered};\n", key(name)));
    }
    let others = match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(others) => Some(type_of(others, depth + 1)?),
        None if body.is_empty() => Some("unknown".to_owned()),
        None => None,
    };
    match (body.is_empty(), others) {
        (true, Some(others)) => Ok(format!("Record<string, {others}>")),
        (true, None) => Ok("Record<string, never>".to_owned()),
        // An index would have to cover the named properties as well.
        (false, Some(_)) => {
            body.push_str(&format!("{indent}[name: string]: unknown;\n"));
            Ok(format!("{{\n{body}{}}}", "  ".repeat(depth)))
        }
        (false, None) => Ok(format!("{{\n{body}{}}}", "  ".repeat(depth))),
    }
}

fn push_comment(page: &mut String, schema: &Value, indent: &str) {
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let text = text.replace("*/", "* /").replace('\n', " ");
        page.push_str(&format!("{indent}/** {text} */\n"));
    }
}

/// Distinct alternatives in their order.
fn join(types: impl Iterator<Item = String>, separator: &str) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for one in types {
        if separator == ", " || !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct.join(separator)
}

fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let starts_well = name.starts_with(|c: char| !c.is_ascii_digit());
    if starts_well && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn literal(value: &Value) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expected: &str) {
        assert_eq!(
            type_of(&schema, 0).expect("understood"),
            expected,
            "{schema}"
        );
    }

    #[test]
    fn schemas_become_types() {
        check(json!(true), "unknown");
        check(json!({ "type": "string" }), "string");
        check(json!({ "type": ["integer", "null"] }), "number | null");
        check(json!({ "$ref": "#/components/schemas/Job" }), "Job");
        check(json!({ "enum": ["a", "b"] }), "\"a\" | \"b\"");
        check(json!({ "const": "a" }), "\"a\"");
        check(
            json!({ "type": "array", "items": { "type": ["string", "null"] } }),
            "(string | null)[]",
        );
        check(
            json!({ "anyOf": [{ "$ref": "#/x/Job" }, { "type": "null" }] }),
            "Job | null",
        );
        check(
            json!({ "type": "object", "additionalProperties": { "type": "number" } }),
            "Record<string, number>",
        );
        check(json!({ "type": "object" }), "Record<string, unknown>");
        check(
            json!({ "type": "array", "prefixItems": [{ "type": "number" }, { "type": "number" }] }),
            "[number, number]",
        );
    }

    #[test]
    fn properties_are_optional_unless_required() {
        let schema = json!({
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": { "type": "string", "description": "Its id." },
                "a-b": { "type": "boolean" },
            },
        });
        check(
            schema,
            "{\n  \"a-b\"?: boolean;\n  /** Its id. */\n  id: string;\n}",
        );
    }

    #[test]
    fn what_is_no_schema_is_rejected() {
        assert!(type_of(&json!({ "type": "function" }), 0).is_err());
        assert!(type_of(&json!(3), 0).is_err());
    }

    #[test]
    fn an_operation_has_a_query_a_body_and_an_answer() {
        let operation = json!({
            "parameters": [
                { "name": "ref", "in": "path", "required": true, "schema": { "type": "string" } },
                { "name": "limit", "in": "query", "schema": { "type": "integer" } },
            ],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/x/In" } } } },
            "responses": {
                "200": { "content": { "application/json": { "schema": { "$ref": "#/x/Out" } } } },
                "default": {},
            },
        });

        let rendered = operation_type(&operation).expect("understood");

        assert_eq!(
            rendered,
            "{ query: { limit?: number }; body: In; answer: Out }"
        );
    }
}
