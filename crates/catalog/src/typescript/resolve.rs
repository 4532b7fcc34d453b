//! Types of PostgreSQL as types of TypeScript: what PostgREST's JSON has for them.

use std::collections::HashSet;

use super::{
    model::{AnyType, Model},
    write::quoted,
};

/// Domains over domains, arrays in arrays: deeper than anybody goes.
const MAX_DEPTH: usize = 16;

pub(super) struct Resolver<'a> {
    model: &'a Model,
    /// Those that are described.
    schemas: HashSet<&'a str>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let schemas = model.schemas.iter().map(|schema| schema.name.as_str());
        Self {
            model,
            schemas: schemas.collect(),
        }
    }

    pub(super) fn type_(&self, id: u32) -> Option<&'a AnyType> {
        self.model.types.get(&id)
    }

    /// The type of values that are there.
    pub(super) fn resolve(&self, id: u32) -> String {
        self.resolve_within(id, MAX_DEPTH)
    }

    /// The type of values that may be null, if they may.
    pub(super) fn nullable(&self, id: u32, is_nullable: bool) -> String {
        let resolved = self.resolve(id);
        match resolved.as_str() {
            // It includes null by itself.
            "Json" if !is_nullable => "NonNullable<Json>".to_owned(),
            "unknown" => resolved,
            _ if is_nullable => format!("{resolved} | null"),
            _ => resolved,
        }
    }

    fn resolve_within(&self, id: u32, depth: usize) -> String {
        let unknown = "unknown".to_owned();
        let (Some(type_), Some(depth)) = (self.type_(id), depth.checked_sub(1)) else {
            return unknown;
        };
        if type_.element != 0 {
            let element = self.resolve_within(type_.element, depth);
            // `|` binds less than `[]`.
            return if element.contains(" | ") {
                format!("({element})[]")
            } else {
                format!("{element}[]")
            };
        }
        if type_.kind == "d" {
            return self.resolve_within(type_.base, depth);
        }
        if type_.kind == "e" {
            return self.enumeration(type_);
        }
        if type_.relation != 0 {
            return self.row(type_);
        }
        scalar(&type_.name).map_or(unknown, str::to_owned)
    }

    fn enumeration(&self, type_: &AnyType) -> String {
        if self.schemas.contains(type_.schema.as_str()) && !type_.labels.is_empty() {
            return member(&type_.schema, "Enums", &type_.name);
        }
        let labels: Vec<String> = type_.labels.iter().map(|label| quoted(label)).collect();
        if labels.is_empty() {
            "never".to_owned()
        } else {
            labels.join(" | ")
        }
    }

    fn row(&self, type_: &AnyType) -> String {
        if !self.schemas.contains(type_.schema.as_str()) {
            return "unknown".to_owned();
        }
        let kind = match type_.relation_kind.as_str() {
            "c" => return member(&type_.schema, "CompositeTypes", &type_.name),
            "v" | "m" => "Views",
            _ => "Tables",
        };
        let relation = member(&type_.schema, kind, &type_.relation_name);
        format!("{relation}[\"Row\"]")
    }
}

fn member(schema: &str, kind: &str, name: &str) -> String {
    format!("Database[{}][\"{kind}\"][{}]", quoted(schema), quoted(name))
}

/// By name, so that those of extensions (`citext`, `vector`) count in any schema.
fn scalar(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "boolean",
        "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" => "number",
        "bytea" | "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz"
        | "timestamp" | "timestamptz" | "uuid" | "vector" | "interval" => "string",
        "json" | "jsonb" => "Json",
        "void" => "undefined",
        "record" => "Record<string, unknown>",
        _ => return None,
    })
}
