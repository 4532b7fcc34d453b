//! What the generator needs of a database.

use std::collections::HashMap;

use tokio_postgres::Client;

use super::Options;
use crate::{
    objects::{
        ArgumentMode, Column, Constraint, ConstraintKind, ForeignTable, Function, MaterializedView,
        Schema, Table, UserType, View,
    },
    read::{ReadError, Scope, list},
};

/// Everything.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// By name.
    pub(super) schemas: Vec<SchemaModel>,
    /// By oid.
    pub(super) types: HashMap<u32, AnyType>,
}

/// One schema, each kind by name.
#[derive(Debug, Default)]
pub(super) struct SchemaModel {
    pub(super) name: String,
    pub(super) relations: Vec<RelationModel>,
    pub(super) functions: Vec<Function>,
    pub(super) enums: Vec<EnumModel>,
    pub(super) composites: Vec<CompositeModel>,
}

/// A table or a view.
#[derive(Debug)]
pub(super) struct RelationModel {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) is_view: bool,
    /// Whether rows can be written: always for tables.
    pub(super) is_writable: bool,
    pub(super) columns: Vec<Column>,
    pub(super) relationships: Vec<Relationship>,
}

/// A foreign key to a table of the same schema.
#[derive(Debug)]
pub(super) struct Relationship {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) is_one_to_one: bool,
    pub(super) referenced_relation: String,
    pub(super) referenced_columns: Vec<String>,
}

#[derive(Debug)]
pub(super) struct EnumModel {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
}

#[derive(Debug)]
pub(super) struct CompositeModel {
    pub(super) name: String,
    /// By name; with the oids of their types.
    pub(super) attributes: Vec<(String, u32)>,
}

/// A type of the catalog.
#[derive(Debug)]
pub(super) struct AnyType {
    pub(super) name: String,
    pub(super) schema: String,
    pub(super) kind: String,
    /// Beneath a domain.
    pub(super) base: u32,
    /// Of an array.
    pub(super) element: u32,
    /// Of a row type.
    pub(super) relation: u32,
    pub(super) relation_kind: String,
    pub(super) relation_name: String,
    pub(super) labels: Vec<String>,
}

impl Model {
    pub(super) async fn read(client: &Client, options: &Options) -> Result<Self, ReadError> {
        let scope = Scope {
            only_readable: options.only_readable,
            ..Scope::default()
        };
        let (schemas, tables, views, materialized, foreign) = tokio::try_join!(
            list::<Schema>(client, &scope),
            list::<Table>(client, &scope),
            list::<View>(client, &scope),
            list::<MaterializedView>(client, &scope),
            list::<ForeignTable>(client, &scope),
        )?;
        let (columns, constraints, functions, user_types, types) = tokio::try_join!(
            list::<Column>(client, &scope),
            list::<Constraint>(client, &scope),
            list::<Function>(client, &scope),
            list::<UserType>(client, &scope),
            any_types(client),
        )?;
        let mut columns = by_relation(columns);
        let mut relationships = relationships(&constraints);
        let mut relation = |id: u32, name: &str, is_view: bool, is_writable: bool| {
            let mut columns = columns.remove(&id).unwrap_or_default();
            columns.sort_by(|a, b| a.name.cmp(&b.name));
            RelationModel {
                id,
                name: name.to_owned(),
                is_view,
                is_writable,
                columns,
                relationships: relationships.remove(&id).unwrap_or_default(),
            }
        };
        let mut relations: Vec<(String, RelationModel)> = Vec::new();
        for table in &tables {
            let model = relation(table.id, &table.name, false, true);
            relations.push((table.schema.clone(), model));
        }
        for table in &foreign {
            let model = relation(table.id, &table.name, false, true);
            relations.push((table.schema.clone(), model));
        }
        for view in &views {
            let model = relation(view.id, &view.name, true, view.is_updatable);
            relations.push((view.schema.clone(), model));
        }
        for view in &materialized {
            let model = relation(view.id, &view.name, true, false);
            relations.push((view.schema.clone(), model));
        }
        relations.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let mut by_schema: HashMap<String, SchemaModel> = schemas
            .into_iter()
            .filter(|schema| options.includes(&schema.name))
            .map(|schema| {
                let name = schema.name;
                let model = SchemaModel {
                    name: name.clone(),
                    ..SchemaModel::default()
                };
                (name, model)
            })
            .collect();
        for (schema, relation) in relations {
            if let Some(schema) = by_schema.get_mut(&schema) {
                schema.relations.push(relation);
            }
        }
        for function in functions.into_iter().filter(is_callable) {
            if let Some(schema) = by_schema.get_mut(&function.schema) {
                schema.functions.push(function);
            }
        }
        for type_ in user_types {
            if let Some(schema) = by_schema.get_mut(&type_.schema) {
                add_type(schema, type_);
            }
        }
        let mut schemas: Vec<SchemaModel> = by_schema.into_values().collect();
        schemas.sort_by(|a, b| a.name.cmp(&b.name));
        for schema in &mut schemas {
            schema.functions.sort_by(|a, b| {
                let key = |f: &Function| (f.name.clone(), f.argument_types.clone());
                key(a).cmp(&key(b))
            });
        }
        Ok(Self { schemas, types })
    }
}

impl Options {
    fn includes(&self, schema: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == schema);
        (self.included.is_empty() || is_in(&self.included)) && !is_in(&self.excluded)
    }
}

fn add_type(schema: &mut SchemaModel, type_: UserType) {
    if !type_.enums.is_empty() {
        schema.enums.push(EnumModel {
            name: type_.name,
            labels: type_.enums,
        });
    } else if !type_.attributes.is_empty() {
        let attributes = type_.attributes.into_iter();
        schema.composites.push(CompositeModel {
            name: type_.name,
            attributes: attributes.map(|one| (one.name, one.type_id)).collect(),
        });
    }
}

/// Whether PostgREST would call it: triggers are not, nor is what has several arguments without names.
fn is_callable(function: &Function) -> bool {
    if matches!(function.return_type.as_str(), "trigger" | "event_trigger") {
        return false;
    }
    let inputs: Vec<_> = function
        .args
        .iter()
        .filter(|argument| {
            matches!(
                argument.mode,
                ArgumentMode::In | ArgumentMode::Inout | ArgumentMode::Variadic
            )
        })
        .collect();
    inputs.len() <= 1 || inputs.iter().all(|argument| !argument.name.is_empty())
}

fn by_relation(columns: Vec<Column>) -> HashMap<u32, Vec<Column>> {
    let mut groups: HashMap<u32, Vec<Column>> = HashMap::new();
    for column in columns {
        groups.entry(column.table_id).or_default().push(column);
    }
    groups
}

/// Foreign keys within a schema, by table. One to one are those on columns that are a key.
fn relationships(constraints: &[Constraint]) -> HashMap<u32, Vec<Relationship>> {
    let sorted = |columns: &[String]| {
        let mut columns = columns.to_vec();
        columns.sort();
        columns
    };
    let is_key = |key: &Constraint| {
        matches!(
            key.kind,
            ConstraintKind::PrimaryKey | ConstraintKind::Unique
        )
    };
    let keys: Vec<(u32, Vec<String>)> = constraints
        .iter()
        .filter(|key| is_key(key))
        .map(|key| (key.table_id, sorted(&key.columns)))
        .collect();
    let mut by_table: HashMap<u32, Vec<Relationship>> = HashMap::new();
    for key in constraints {
        let (Some(schema), Some(table)) = (&key.referenced_schema, &key.referenced_table) else {
            continue;
        };
        if key.kind != ConstraintKind::ForeignKey || *schema != key.schema {
            continue;
        }
        let columns = (key.table_id, sorted(&key.columns));
        by_table
            .entry(key.table_id)
            .or_default()
            .push(Relationship {
                name: key.name.clone(),
                columns: key.columns.clone(),
                is_one_to_one: keys.contains(&columns),
                referenced_relation: table.clone(),
                referenced_columns: key.referenced_columns.clone(),
            });
    }
    by_table
}

async fn any_types(client: &Client) -> Result<HashMap<u32, AnyType>, ReadError> {
    let rows = client.query_typed(include_str!("types.sql"), &[]).await?;
    let mut types = HashMap::with_capacity(rows.len());
    for row in &rows {
        types.insert(
            row.try_get("id")?,
            AnyType {
                name: row.try_get("name")?,
                schema: row.try_get("schema")?,
                kind: row.try_get("kind")?,
                base: row.try_get("base")?,
                element: row.try_get("element")?,
                relation: row.try_get("relation")?,
                relation_kind: row.try_get("relation_kind")?,
                relation_name: row.try_get("relation_name")?,
                labels: row.try_get("labels")?,
            },
        );
    }
    Ok(types)
}
