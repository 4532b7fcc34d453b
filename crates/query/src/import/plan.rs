//! Which values of a file go into which columns.

use plinth_db::QuotedIdent;

use crate::{
    QueryError, Relation,
    sql::{qualified, separated},
};

use super::{
    options::{ColumnMapping, FileFormat, ImportMode, ImportRequest, KnownOptions, OnError},
    preview::Sample,
};

/// What is done with a file.
#[derive(Debug)]
pub(super) struct Plan {
    /// The quoted name of the table.
    pub(super) table: String,
    pub(super) columns: Vec<PlannedColumn>,
    /// How many values a record has to have.
    pub(super) width: usize,
    /// Columns that tell which row is meant.
    pub(super) key: Vec<String>,
    /// Whether rows go through a staging table.
    pub(super) is_staged: bool,
}

/// A column that is written.
#[derive(Debug)]
pub(super) struct PlannedColumn {
    /// Its name in the file.
    pub(super) source: String,
    /// Its place in a record.
    pub(super) place: usize,
    pub(super) name: String,
    /// The type in a created table.
    pub(super) type_text: String,
    /// The type of a value in an expression.
    pub(super) cast: String,
    /// Whether a value can be wrong.
    pub(super) is_checked: bool,
    pub(super) is_array: bool,
    pub(super) is_not_null: bool,
}

impl Plan {
    /// `relation` is the table, unless it is created.
    pub(super) fn new(
        request: &ImportRequest,
        known: &KnownOptions,
        sample: &Sample,
        relation: Option<&Relation>,
    ) -> Result<Self, QueryError> {
        let is_json = matches!(known.format, FileFormat::Json | FileFormat::Ndjson);
        let mapping = match &request.columns {
            Some(mapping) => mapping.clone(),
            None => default_mapping(sample, relation),
        };
        if mapping.is_empty() {
            return Err(QueryError::Invalid(
                "No column of the file goes into one of the table".to_owned(),
            ));
        }
        let mut columns: Vec<PlannedColumn> = Vec::with_capacity(mapping.len());
        for item in &mapping {
            if columns.iter().any(|column| column.name == item.target) {
                let name = item.target.escape_debug();
                return Err(QueryError::Invalid(format!(
                    "Two columns of the file go into {name}"
                )));
            }
            let place = sample.names.iter().position(|name| *name == item.source);
            let place = match place {
                Some(place) => place,
                // Objects that come later may have it.
                None if is_json => usize::MAX,
                None => {
                    let name = item.source.escape_debug();
                    return Err(QueryError::Invalid(format!(
                        "The file has no column {name}"
                    )));
                }
            };
            columns.push(match relation {
                Some(relation) => of_relation(relation, item, place)?,
                None => of_new_table(sample, item, place)?,
            });
        }
        let key = key_of(request, relation, &columns)?;
        let has_row_security = relation.is_some_and(|relation| relation.has_row_security);
        let is_table = relation.is_none_or(Relation::is_table);
        Ok(Self {
            table: qualified(&request.relation.schema, &request.relation.name),
            width: sample.names.len(),
            // COPY takes tables without policies only.
            is_staged: request.mode == ImportMode::Upsert
                || request.on_error == OnError::Skip
                || has_row_security
                || !is_table,
            columns,
            key,
        })
    }

    /// The quoted columns.
    pub(super) fn column_list(&self) -> String {
        let names = self.columns.iter();
        separated(names.map(|column| QuotedIdent::new(&column.name)), ", ")
    }

    /// `create table …`, with row-level security.
    pub(super) fn create_sql(&self, primary_key: &[String]) -> String {
        let mut parts: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {}", QuotedIdent::new(&column.name), column.type_text))
            .collect();
        if !primary_key.is_empty() {
            let names = primary_key.iter().map(|name| QuotedIdent::new(name));
            parts.push(format!("primary key ({})", separated(names, ", ")));
        }
        format!(
            "create table {table} ({}); alter table {table} enable row level security",
            parts.join(", "),
            table = self.table
        )
    }
}

/// Columns of the same name, in any case if there is no exact one.
fn default_mapping(sample: &Sample, relation: Option<&Relation>) -> Vec<ColumnMapping> {
    let target = |source: &String| match relation {
        None => Some(source.clone()),
        Some(relation) => {
            let columns = || {
                relation
                    .columns
                    .iter()
                    .filter(|column| !column.is_generated)
            };
            let exact = columns().find(|column| column.name == *source);
            let found = exact.or_else(|| {
                columns().find(|column| column.name.eq_ignore_ascii_case(source.trim()))
            });
            found.map(|column| column.name.clone())
        }
    };
    let mut mapping: Vec<ColumnMapping> = Vec::new();
    for source in &sample.names {
        let Some(target) = target(source) else {
            continue;
        };
        if mapping.iter().all(|item| item.target != target) {
            mapping.push(ColumnMapping {
                source: source.clone(),
                target,
                type_text: None,
            });
        }
    }
    mapping
}

fn of_relation(
    relation: &Relation,
    item: &ColumnMapping,
    place: usize,
) -> Result<PlannedColumn, QueryError> {
    let column = relation.column(&item.target)?;
    Ok(PlannedColumn {
        source: item.source.clone(),
        place,
        name: column.name.clone(),
        type_text: column.type_text.clone(),
        cast: column.parameter_type(),
        is_checked: !column.takes_any_text(),
        is_array: column.is_array(),
        is_not_null: column.is_not_null,
    })
}

fn of_new_table(
    sample: &Sample,
    item: &ColumnMapping,
    place: usize,
) -> Result<PlannedColumn, QueryError> {
    if item.target.is_empty() || item.target.contains('\0') {
        return Err(QueryError::Invalid(
            "A column of the new table has no name, or one with a NUL character".to_owned(),
        ));
    }
    let type_text = match &item.type_text {
        Some(text) => text.clone(),
        None => sample.type_of(place).to_owned(),
    };
    Ok(PlannedColumn {
        source: item.source.clone(),
        place,
        name: item.target.clone(),
        cast: type_text.clone(),
        is_checked: type_text != "text",
        is_array: type_text.trim_end().ends_with(']'),
        is_not_null: false,
        type_text,
    })
}

fn key_of(
    request: &ImportRequest,
    relation: Option<&Relation>,
    columns: &[PlannedColumn],
) -> Result<Vec<String>, QueryError> {
    if request.mode != ImportMode::Upsert {
        return Ok(Vec::new());
    }
    let key: Vec<String> = match relation {
        _ if !request.key.is_empty() => request.key.clone(),
        Some(relation) => relation
            .key_columns()
            .map(|column| column.name.clone())
            .collect(),
        None => request.primary_key.clone(),
    };
    if key.is_empty() {
        return Err(QueryError::Invalid(
            "The table has no key by which rows could be recognised; name its columns in `key`"
                .to_owned(),
        ));
    }
    let is_written = |name: &String| columns.iter().any(|column| column.name == *name);
    match key.iter().find(|name| !is_written(name)) {
        None => Ok(key),
        Some(name) => Err(QueryError::Invalid(format!(
            "The file has no values for {}, which is part of the key",
            name.escape_debug()
        ))),
    }
}
