//! Resolves the fields of a request in one relation. A column's type decides about conversions for
//! JSON paths, full-text search and domain representations.

use super::tree::{Condition, Embed, FieldFilter, FieldRef, OutputColumn};
use crate::{
    request::{Field, Filter, IsValue, JsonOperand, Operation},
    schema_cache::{Column, SchemaCache, Table},
};

/// Where fields are resolved.
pub(super) struct FieldContext<'a> {
    pub(super) cache: &'a SchemaCache,
    /// `None` for the result of a function that does not return rows of a relation.
    pub(super) table: Option<&'a Table>,
}

impl<'a> FieldContext<'a> {
    fn find(&self, field: &Field) -> Option<&'a Column> {
        self.table.and_then(|table| table.column(&field.name))
    }

    /// A field outside of the select list.
    pub(super) fn field_ref(&self, field: &'a Field) -> FieldRef<'a> {
        let is_json = self
            .find(field)
            .is_some_and(|column| matches!(&*column.nominal_type, "json" | "jsonb"));
        FieldRef {
            name: &field.name,
            path: &field.path,
            needs_to_jsonb: !is_json,
        }
    }

    /// A field of the select list, with the function of its domain representation.
    pub(super) fn output(&self, field: &'a Field) -> (FieldRef<'a>, Option<&'a str>) {
        let formatter = self
            .find(field)
            .and_then(|column| self.representation(&column.nominal_type, "json"));
        (self.field_ref(field), formatter)
    }

    /// A column of an expanded `*`.
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

/// A field of a relation that is not looked up.
pub(super) fn untyped(field: &Field) -> FieldRef<'_> {
    FieldRef {
        name: &field.name,
        path: &field.path,
        needs_to_jsonb: false,
    }
}

/// The key of a JSON path in the result: its last key, or the column if it has only indexes.
pub(super) fn output_name(field: &Field) -> &str {
    let keys = field.path.iter().rev();
    let last_key = keys.into_iter().find_map(|step| match &step.operand {
        JsonOperand::Key(key) => Some(key.as_str()),
        JsonOperand::Index(_) => None,
    });
    last_key.unwrap_or(&field.name)
}

/// A filter. `is.null` on the name of an embed tests whether the embed has no row.
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
        field: context.field_ref(&filter.field),
        is_negated: filter.is_negated,
        operation: &filter.operation,
        parser: column.and_then(|column| context.representation("text", &column.nominal_type)),
        needs_to_tsvector: is_search
            && column.is_some_and(|column| *column.base_type != *"tsvector"),
    }
}
