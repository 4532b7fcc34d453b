//! Types of PostgreSQL in the document.

use super::document::{Schema, SwaggerType};

/// `None` for JSON, which can be any value.
pub(super) fn swagger_type(pg_type: &str) -> Option<SwaggerType> {
    match pg_type {
        "json" | "jsonb" => None,
        "boolean" => Some(SwaggerType::Boolean),
        "smallint" | "integer" | "bigint" => Some(SwaggerType::Integer),
        "numeric" | "real" | "double precision" => Some(SwaggerType::Number),
        array if array.ends_with("[]") => Some(SwaggerType::Array),
        _ => Some(SwaggerType::String),
    }
}

/// The name of the type, except for integers, which have a format in Swagger.
pub(super) fn format(pg_type: &str) -> &str {
    match pg_type {
        "smallint" | "integer" => "int32",
        "bigint" => "int64",
        other => other,
    }
}

/// The element type of an array; other types are returned unchanged.
pub(super) fn element_type(pg_type: &str) -> &str {
    pg_type.strip_suffix("[]").unwrap_or(pg_type)
}

/// Type, format and, for arrays, element type.
pub(super) fn schema(pg_type: &str) -> Schema<'_> {
    let type_ = swagger_type(pg_type);
    let items = (type_ == Some(SwaggerType::Array)).then(|| {
        Box::new(Schema {
            type_: swagger_type(element_type(pg_type)),
            ..Schema::default()
        })
    });
    Schema {
        format: Some(format(pg_type)),
        items,
        type_,
        ..Schema::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_type_has_its_schema() {
        let check = |pg_type: &str, expected: Value| assert_eq!(json!(schema(pg_type)), expected);

        check(
            "character varying",
            json!({ "format": "character varying", "type": "string" }),
        );
        check(
            "character",
            json!({ "format": "character", "type": "string" }),
        );
        check("text", json!({ "format": "text", "type": "string" }));
        check("boolean", json!({ "format": "boolean", "type": "boolean" }));
        check("smallint", json!({ "format": "int32", "type": "integer" }));
        check("integer", json!({ "format": "int32", "type": "integer" }));
        check("bigint", json!({ "format": "int64", "type": "integer" }));
        check("numeric", json!({ "format": "numeric", "type": "number" }));
        check("real", json!({ "format": "real", "type": "number" }));
        check(
            "double precision",
            json!({ "format": "double precision", "type": "number" }),
        );
        check("json", json!({ "format": "json" }));
        check("jsonb", json!({ "format": "jsonb" }));
        check("date", json!({ "format": "date", "type": "string" }));
        check(
            "app.mood",
            json!({ "format": "app.mood", "type": "string" }),
        );
    }

    #[test]
    fn arrays_name_the_type_of_their_elements() {
        let check = |pg_type: &str, items: Value| {
            let expected = json!({ "format": pg_type, "type": "array", "items": items });
            assert_eq!(json!(schema(pg_type)), expected);
        };

        check("text[]", json!({ "type": "string" }));
        check("integer[]", json!({ "type": "integer" }));
        check("bigint[]", json!({ "type": "integer" }));
        check("boolean[]", json!({ "type": "boolean" }));
        check("numeric[]", json!({ "type": "number" }));
        check("jsonb[]", json!({}));
    }
}
