//! Types for supabase-js, in the shape of postgres-meta's generator: `Database` with `Tables`, `Views`,
//! `Functions`, `Enums` and `CompositeTypes` per schema, and the helpers `Tables<…>` and the like.
//!
//! Types are resolved by oid, so that namesakes in other schemas are not mixed up. Not there:
//! relationships of views, and the texts by which postgres-meta's types explain overloaded functions
//! that PostgREST cannot tell apart.

mod model;
mod resolve;
mod write;

use std::fmt::Write as _;

use tokio_postgres::Client;

use crate::read::ReadError;
use model::{Model, SchemaModel};
use resolve::Resolver;
use write::{Writer, key, quoted};

const JSON: &str = "export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]
";

/// What the types are of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Only these schemas; all of the users' if there are none.
    pub included: Vec<String>,
    /// None of these.
    pub excluded: Vec<String>,
    /// Whether relationships say if they are one to one.
    pub detects_one_to_one: bool,
    /// The version of PostgREST that the client is made for.
    pub postgrest_version: Option<String>,
    /// Whether only what the session's role may read is described.
    pub only_readable: bool,
}

/// The types of a database, as the text of a TypeScript file.
pub async fn typescript(client: &Client, options: &Options) -> Result<String, ReadError> {
    let model = Model::read(client, options).await?;
    Ok(generate(&model, options))
}

fn generate(model: &Model, options: &Options) -> String {
    let resolver = Resolver::new(model);
    let mut writer = Writer::default();
    writer.raw(JSON);
    writer.raw("\n");
    writer.block("export type Database = {", "}", |writer| {
        if let Some(version) = &options.postgrest_version {
            writer.line("// Lets `createClient` choose its options by itself.");
            writer.block("__InternalSupabase: {", "}", |writer| {
                writer.line(&format!("PostgrestVersion: {}", quoted(version)));
            });
        }
        for schema in &model.schemas {
            writer.block(&format!("{}: {{", key(&schema.name)), "}", |writer| {
                write_schema(writer, schema, &resolver, options);
            });
        }
    });
    writer.raw("\n");
    writer.raw(include_str!("helpers.ts"));
    writer.raw("\n");
    writer.block("export const Constants = {", "} as const", |writer| {
        for schema in &model.schemas {
            writer.block(&format!("{}: {{", key(&schema.name)), "},", |writer| {
                if schema.enums.is_empty() {
                    return writer.line("Enums: {},");
                }
                writer.block("Enums: {", "},", |writer| {
                    for type_ in &schema.enums {
                        let labels: Vec<String> =
                            type_.labels.iter().map(|label| quoted(label)).collect();
                        let labels = labels.join(", ");
                        writer.line(&format!("{}: [{labels}],", key(&type_.name)));
                    }
                });
            });
        }
    });
    writer.finish()
}

const NOTHING: &str = "[_ in never]: never";

fn write_schema(
    writer: &mut Writer,
    schema: &SchemaModel,
    resolver: &Resolver<'_>,
    options: &Options,
) {
    let section =
        |writer: &mut Writer, name: &str, is_empty: bool, fill: &mut dyn FnMut(&mut Writer)| {
            writer.block(&format!("{name}: {{"), "}", |writer| {
                if is_empty {
                    writer.line(NOTHING);
                } else {
                    fill(writer);
                }
            });
        };
    let (views, tables): (Vec<_>, Vec<_>) = schema
        .relations
        .iter()
        .partition(|relation| relation.is_view);
    section(writer, "Tables", tables.is_empty(), &mut |writer| {
        for table in &tables {
            write::relation(writer, table, schema, resolver, options);
        }
    });
    section(writer, "Views", views.is_empty(), &mut |writer| {
        for view in &views {
            write::relation(writer, view, schema, resolver, options);
        }
    });
    section(
        writer,
        "Functions",
        schema.functions.is_empty(),
        &mut |writer| {
            for overloads in schema.functions.chunk_by(|a, b| a.name == b.name) {
                write::functions(writer, overloads, resolver);
            }
        },
    );
    section(writer, "Enums", schema.enums.is_empty(), &mut |writer| {
        for type_ in &schema.enums {
            let labels: Vec<String> = type_.labels.iter().map(|label| quoted(label)).collect();
            writer.line(&format!("{}: {}", key(&type_.name), labels.join(" | ")));
        }
    });
    section(
        writer,
        "CompositeTypes",
        schema.composites.is_empty(),
        &mut |writer| {
            for type_ in &schema.composites {
                writer.block(&format!("{}: {{", key(&type_.name)), "}", |writer| {
                    for (name, type_id) in &type_.attributes {
                        let mut line = key(name);
                        _ = write!(line, ": {}", resolver.nullable(*type_id, true));
                        writer.line(&line);
                    }
                });
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_without_anything_is_still_a_database() {
        let model = Model {
            schemas: vec![SchemaModel {
                name: "my \"schema\"".to_owned(),
                ..SchemaModel::default()
            }],
            ..Model::default()
        };
        let text = generate(&model, &Options::default());
        assert!(
            text.contains(
                "  \"my \\\"schema\\\"\": {\n    Tables: {\n      [_ in never]: never\n    }\n"
            ),
            "{text}"
        );
        assert!(text.ends_with("} as const\n"), "{text}");
    }
}
