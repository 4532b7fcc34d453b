//! What a name in a request means for one relation: its column's type decides how paths,
//! searches and domain representations are written.

use super::tree::{Condition, Embed, FieldFilter, FieldRef, OutputColumn};
use crate::{
    request::{Field, Filter, IsValue, JsonOperand, Operation},
    schema_cache::{Column, SchemaCache, Table},
};

/// The relation that names are looked up in; `None` for the result of a function that is no
/// relation's row.
pub(super) struct FieldContext<'a> {
    pub(super) cache: &'a SchemaCache,
    pub(super) table: Option<&'a Table>,
}

impl<'a> FieldContext<'a> {
    fn find(&self, field: &Field) -> Option<&'a Column> {
        self.table.and_then(|table| table.column(&field.name))
    }

    /// A field as it is, with what a path into it needs.
    pub(super) fn plain(&self, field: &'a Field) -> FieldRef<'a> {
        let is_json = self
            .find(field)
            .is_some_and(|column| matches!(&*column.nominal_type, "json" | "jsonb"));
        FieldRef {
            name: &field.name,
            path: &field.path,
            needs_to_jsonb: !is_json,
        }
    }

    /// A field of the result, with the function that renders it.
    pub(super) fn output(&self, field: &'a Field) -> (FieldRef<'a>, Option<&'a str>) {
        let formatter = self
            .find(field)
            .and_then(|column| self.representation(&column.nominal_type, "json"));
        (self.plain(field), formatter)
    }

    /// A column that a star stands for.
    pub(super) fn column(&self, column: &'a Column) -> OutputColumn<'a> {
        let formatter = self.representation(&column.nominal_type, "json");
        OutputColumn {
            field: FieldRef {
                name: &column.name,
                path: &[],
                needs_to_jsonb: false,
            },
            formatter,
            cast: None,
            aggregate: None,
            alias: formatter.map(|_| (&*column.name).into()),
            is_whole_row: false,
        }
    }

    pub(super) fn has_output_representation(&self) -> bool {
        self.table.is_some_and(|table| {
            let mut columns = table.columns.iter();
            columns.any(|column| self.representation(&column.nominal_type, "json").is_some())
        })
    }

    pub(super) fn representation(&self, source: &str, target: &str) -> Option<&'a str> {
        let found = self.cache.representation(source, target)?;
        Some(&found.function)
    }
}

/// A field of which nothing is known.
pub(super) fn unknown(field: &Field) -> FieldRef<'_> {
    FieldRef {
        name: &field.name,
        path: &field.path,
        needs_to_jsonb: false,
    }
}

/// The result's name for a path: its last key, or the column when it has only indexes.
pub(super) fn name_of(field: &Field) -> &str {
    let keys = field.path.iter().rev();
    let last_key = keys.into_iter().find_map(|step| match &step.operand {
        JsonOperand::Key(key) => Some(key.as_str()),
        JsonOperand::Index(_) => None,
    });
    last_key.unwrap_or(&field.name)
}

/// A filter; on the name of an embed, a test whether that embed has a row.
pub(super) fn condition<'a>(
    filter: &'a Filter,
    context: &FieldContext<'a>,
    embeds: &[Embed<'a>],
) -> Condition<'a> {
    let is_null_test = matches!(filter.operation, Operation::Is(IsValue::Null));
    if is_null_test && filter.field.path.is_empty() {
        let named = embeds
            .iter()
            .position(|embed| embed.name == filter.field.name);
        if let Some(embed) = named {
            return Condition::EmbedIsNull {
                embed,
                is_negated: filter.is_negated,
            };
        }
    }
    Condition::Filter(field_filter(filter, context))
}

fn field_filter<'a>(filter: &'a Filter, context: &FieldContext<'a>) -> FieldFilter<'a> {
    let column = context.find(&filter.field);
    let is_search = matches!(filter.operation, Operation::FullText { .. });
    FieldFilter {
        field: context.plain(&filter.field),
        is_negated: filter.is_negated,
        operation: &filter.operation,
        parser: column.and_then(|column| context.representation("text", &column.nominal_type)),
        needs_to_tsvector: is_search
            && column.is_some_and(|column| *column.base_type != *"tsvector"),
    }
}
