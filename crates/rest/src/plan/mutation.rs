//! Plans inserts, updates, upserts and deletes (rest contract §2.3–§2.6).

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{
    field::FieldContext,
    negotiate::Output,
    read::{Resolver, group},
    select_tree::{Scope, SelectNode},
    tree::{Condition, From, ReadNode},
};
use crate::{
    RestError,
    request::{
        ApiRequest, Filter, Mutation, Operation, Payload, QuantOperator,
        preferences::{Missing, Representation, Resolution},
    },
    schema_cache::{Link, Table},
};

/// A change to one relation, and the read of the changed rows.
#[derive(Debug)]
pub(crate) struct MutatePlan<'a> {
    pub(crate) table: &'a Table,
    pub(crate) mutation: Mutation,
    pub(crate) change: Change<'a>,
    /// The columns of `RETURNING`; empty if the rows are not requested.
    pub(crate) returning: Vec<&'a str>,
    pub(crate) read: ReadNode<'a>,
    pub(crate) output: Output<'a>,
}

#[derive(Debug)]
pub(crate) enum Change<'a> {
    Insert {
        body: Body<'a>,
        on_conflict: Option<OnConflict<'a>>,
        /// For PUT: only rows of the body that match the URL are inserted.
        conditions: Vec<Condition<'a>>,
    },
    Update {
        body: Body<'a>,
        conditions: Vec<Condition<'a>>,
    },
    Delete {
        conditions: Vec<Condition<'a>>,
    },
}

#[derive(Debug)]
pub(crate) struct OnConflict<'a> {
    pub(crate) resolution: Resolution,
    pub(crate) columns: Vec<&'a str>,
}

/// The rows of the request's body.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    pub(crate) json: &'a Bytes,
    pub(crate) is_object: bool,
    pub(crate) columns: Vec<BodyColumn<'a>>,
    /// `missing=default`: a missing key means the column's default instead of null.
    pub(crate) applies_defaults: bool,
}

#[derive(Debug)]
pub(crate) struct BodyColumn<'a> {
    pub(crate) name: &'a str,
    /// The type of the JSON value.
    pub(crate) type_name: &'a str,
    /// The function of a domain representation that converts the value.
    pub(crate) parser: Option<&'a str>,
    pub(crate) default: Option<&'a str>,
}

impl<'a> Resolver<'a> {
    pub(super) fn mutate(
        &self,
        request: &'a ApiRequest,
        table: &'a Table,
        mutation: Mutation,
        select: SelectNode<'a>,
        output: impl FnOnce(&ReadNode<'a>) -> Result<Output<'a>, RestError>,
    ) -> Result<MutatePlan<'a>, RestError> {
        let from = From::Source {
            alias: &table.name.name,
        };
        let read = self.read(select, from, &table.name.name, Some(table))?;
        let change = self.change(request, table, mutation)?;
        let returning = match request.preferences.representation {
            None | Some(Representation::Minimal) => Vec::new(),
            Some(Representation::Full | Representation::HeadersOnly) => {
                needed_columns(&read, &table.primary_key)
            }
        };
        let output = output(&read)?;
        Ok(MutatePlan {
            table,
            mutation,
            change,
            returning,
            read,
            output,
        })
    }

    fn change(
        &self,
        request: &'a ApiRequest,
        table: &'a Table,
        mutation: Mutation,
    ) -> Result<Change<'a>, RestError> {
        let context = FieldContext {
            cache: self.cache,
            table: Some(table),
        };
        let preferences = &request.preferences;
        let primary_key = || table.primary_key.iter().map(|column| &**column).collect();
        let applies_defaults = preferences.missing == Some(Missing::Default);
        Ok(match mutation {
            Mutation::Insert => {
                let named = request.query.on_conflict.as_ref();
                let columns = match named {
                    Some(named) => named.iter().map(String::as_str).collect(),
                    None => primary_key(),
                };
                Change::Insert {
                    body: self.body(request, &context, table, applies_defaults)?,
                    on_conflict: preferences.resolution.map(|resolution| OnConflict {
                        resolution,
                        columns,
                    }),
                    conditions: Vec::new(),
                }
            }
            Mutation::Upsert => {
                if !filters_by_primary_key(request, table) {
                    return Err(RestError::PutFilters);
                }
                Change::Insert {
                    body: self.body(request, &context, table, false)?,
                    on_conflict: Some(OnConflict {
                        resolution: Resolution::MergeDuplicates,
                        columns: primary_key(),
                    }),
                    conditions: root_conditions(request, &context),
                }
            }
            Mutation::Update => Change::Update {
                body: self.body(request, &context, table, applies_defaults)?,
                conditions: root_conditions(request, &context),
            },
            Mutation::Delete => Change::Delete {
                conditions: root_conditions(request, &context),
            },
        })
    }

    fn body(
        &self,
        request: &'a ApiRequest,
        context: &FieldContext<'a>,
        table: &'a Table,
        applies_defaults: bool,
    ) -> Result<Body<'a>, RestError> {
        let Some(Payload::Json {
            text,
            keys,
            is_object,
        }) = &request.payload
        else {
            return Err(RestError::InvalidBody("Empty or invalid json".to_owned()));
        };
        let columns = keys
            .iter()
            .map(|key| {
                let column = table.column(key).ok_or_else(|| RestError::NoColumn {
                    column: key.clone(),
                    table: table.name.name.to_string(),
                })?;
                let parser = context.representation("json", &column.nominal_type);
                Ok(BodyColumn {
                    name: key,
                    type_name: match parser {
                        Some(_) => "json",
                        None => &column.nominal_type,
                    },
                    parser,
                    default: column.default.as_deref(),
                })
            })
            .collect::<Result<_, RestError>>()?;
        Ok(Body {
            json: text,
            is_object: *is_object,
            columns,
            applies_defaults,
        })
    }
}

/// Whether the filters are exactly an equality on each column of the primary key, as PUT requires.
fn filters_by_primary_key(request: &ApiRequest, table: &Table) -> bool {
    let is_plain_equality = |filter: &Filter| {
        let is_equality = matches!(
            filter.operation,
            Operation::Quantified {
                operator: QuantOperator::Equal,
                quantifier: None,
                ..
            }
        );
        is_equality && !filter.is_negated
    };
    let filters = &request.query.filters;
    let named: BTreeSet<&str> = filters.iter().map(|(_, f)| f.field.name.as_str()).collect();
    let key: BTreeSet<&str> = table.primary_key.iter().map(|column| &**column).collect();
    !key.is_empty()
        && named == key
        && request.query.logic.is_empty()
        && filters
            .iter()
            .filter(|(path, _)| path.is_empty())
            .all(|(_, filter)| is_plain_equality(filter))
}

fn root_conditions<'a>(request: &'a ApiRequest, context: &FieldContext<'a>) -> Vec<Condition<'a>> {
    let filters = request.query.filters.iter();
    let logic = request.query.logic.iter();
    let filters = filters
        .filter(|(path, _)| path.is_empty())
        .map(|(_, filter)| super::field::condition(filter, context, &[]));
    let logic = logic
        .filter(|(path, _)| path.is_empty())
        .map(|(_, tree)| group(tree, context, &[]));
    filters.chain(logic).collect()
}

/// The columns of a mutation's or call's result that its read needs: those selected, those that
/// joins use, and `keys`. No others, so that privileges on these columns suffice.
pub(super) fn needed_columns<'a>(
    read: &ReadNode<'a>,
    keys: &'a [std::sync::Arc<str>],
) -> Vec<&'a str> {
    let mut needed: BTreeSet<&'a str> = read.columns.iter().map(|c| c.field.name).collect();
    let is_computed = |link: &Link| matches!(link, Link::Computed { .. });
    let links = || read.embeds.iter().map(|embed| &embed.relationship.link);
    if needed.contains("*") || links().any(is_computed) {
        return vec!["*"];
    }
    for embed in &read.embeds {
        match &embed.relationship.link {
            Link::ManyToOne(join) | Link::OneToMany(join) | Link::OneToOne { join, .. } => {
                needed.extend(join.columns.iter().map(|(column, _)| &**column));
            }
            Link::ManyToMany(junction) => {
                needed.extend(junction.source_columns.iter().map(|(column, _)| &**column));
            }
            Link::Computed { .. } => {}
        }
    }
    needed.extend(keys.iter().map(|key| &**key));
    needed.into_iter().collect()
}

pub(super) const SCOPE: Scope = Scope::Representation;
