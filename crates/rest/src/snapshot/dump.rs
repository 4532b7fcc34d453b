//! The schema cache as JSON, for debugging (`/schema_cache` of the admin server).

use serde_json::{Value, json};

use super::Snapshot;
use crate::schema_cache::{Relationship, Routine, Table};

impl Snapshot {
    /// Its shape is not a public interface.
    pub(crate) fn dump(&self) -> String {
        let schemas: serde_json::Map<_, _> = self
            .config
            .schemas
            .iter()
            .map(|schema| (schema.clone(), self.dump_schema(schema)))
            .collect();
        Value::Object(schemas).to_string()
    }

    fn dump_schema(&self, schema: &str) -> Value {
        let tables: Vec<Value> = self
            .cache
            .tables_in(schema)
            .map(|table| dump_table(table, self.cache.relationships(schema, &table.name.name)))
            .collect();
        let routines: Vec<Value> = self.cache.routines_in(schema).map(dump_routine).collect();
        json!({ "tables": tables, "routines": routines })
    }
}

fn dump_table(table: &Table, relationships: &[Relationship]) -> Value {
    let columns = table
        .columns
        .iter()
        .map(|column| json!({ "name": &*column.name, "type": &*column.nominal_type }));
    let primary_key = table.primary_key.iter().map(|column| &**column);
    let related = relationships
        .iter()
        .map(|relationship| &*relationship.foreign_table.name);
    json!({
        "name": &*table.name.name,
        "columns": columns.collect::<Vec<_>>(),
        "primaryKey": primary_key.collect::<Vec<_>>(),
        "relatedTo": related.collect::<Vec<_>>(),
    })
}

fn dump_routine(routine: &Routine) -> Value {
    let params = routine.params.iter().map(|param| {
        json!({
            "name": &*param.name,
            "type": &*param.type_name,
            "required": param.is_required,
        })
    });
    json!({ "name": &*routine.name.name, "params": params.collect::<Vec<_>>() })
}
