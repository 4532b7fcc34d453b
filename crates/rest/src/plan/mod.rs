//! Plans requests: resolves names in the schema cache, chooses joins and negotiates the media type.
//! The database is not involved (rest contract §0, steps 10–16).

mod call;
mod field;
mod fuzzy;
mod mutation;
mod negotiate;
mod overload;
#[cfg(test)]
mod printer;
mod read;
mod relationship;
#[cfg(test)]
pub(crate) mod samples;
mod select_tree;
mod spread;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

pub(crate) use call::{Argument, Arguments, CallPlan};
pub(crate) use mutation::{Body, BodyColumn, Change, MutatePlan};
pub(crate) use negotiate::{Handler, Output};

use crate::{
    RestConfig, RestError,
    request::{Action, ApiRequest, CallMethod, media_type::MediaType, preferences::Representation},
    schema_cache::{QualifiedName, Routine, SchemaCache, Table},
};
use negotiate::{Offer, negotiate};
use read::Resolver;
use select_tree::{Scope, SelectNode};
use tree::{From, ReadNode};

/// A request whose names are resolved.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    Read(ReadPlan<'a>),
    Mutate(MutatePlan<'a>),
    Call(CallPlan<'a>),
    /// The OpenAPI document.
    OpenApi {
        is_head: bool,
    },
    /// OPTIONS on a relation.
    RelationInfo(&'a Table),
    FunctionInfo(&'a Routine),
    SchemaInfo,
}

/// A read of one relation.
#[derive(Debug)]
pub(crate) struct ReadPlan<'a> {
    pub(crate) table: &'a Table,
    pub(crate) read: ReadNode<'a>,
    pub(crate) output: Output<'a>,
    pub(crate) is_head: bool,
}

/// A plan, and deprecated names in the query string.
#[derive(Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) plan: Plan<'a>,
    /// Relations named by their own name, each with the alias to use instead.
    pub(crate) deprecated_names: Vec<(&'a str, &'a str)>,
}

impl<'a> Plan<'a> {
    pub(crate) fn build(
        request: &'a ApiRequest,
        cache: &'a SchemaCache,
        config: &RestConfig,
    ) -> Result<Planned<'a>, RestError> {
        let planner = Planner {
            request,
            cache,
            config,
        };
        let (plan, deprecated_names) = match &request.action {
            Action::Read { relation, is_head } => planner.read(relation, *is_head)?,
            Action::Mutate { relation, mutation } => {
                let table = find_table(cache, &request.schema, relation)?;
                let select = planner.select(mutation::SCOPE)?;
                let deprecated_names = select.deprecated_names();
                let is_full = request.preferences.representation == Some(Representation::Full);
                let output = |read: &ReadNode<'a>| {
                    planner.check_preferences()?;
                    planner.output(&table.name, read, is_full)
                };
                let plan = planner
                    .resolver()
                    .mutate(request, table, *mutation, select, output)?;
                (Plan::Mutate(plan), deprecated_names)
            }
            Action::Call { function, method } => planner.call(function, *method)?,
            Action::FunctionInfo { function } => match planner.call(function, CallMethod::Head)? {
                (Plan::Call(call), deprecated_names) => {
                    (Plan::FunctionInfo(call.routine), deprecated_names)
                }
                other => other,
            },
            Action::OpenApi { is_head } => {
                planner.check_document_type()?;
                (Plan::OpenApi { is_head: *is_head }, Vec::new())
            }
            Action::RelationInfo { relation } => {
                let table = find_table(cache, &request.schema, relation)?;
                (Plan::RelationInfo(table), Vec::new())
            }
            Action::SchemaInfo => (Plan::SchemaInfo, Vec::new()),
        };
        Ok(Planned {
            plan,
            deprecated_names,
        })
    }
}

type PlanAndDeprecatedNames<'a> = (Plan<'a>, Vec<(&'a str, &'a str)>);

struct Planner<'a, 'c> {
    request: &'a ApiRequest,
    cache: &'a SchemaCache,
    config: &'c RestConfig,
}

impl<'a> Planner<'a, '_> {
    fn read(&self, relation: &str, is_head: bool) -> Result<PlanAndDeprecatedNames<'a>, RestError> {
        let table = find_table(self.cache, &self.request.schema, relation)?;
        let select = self.select(Scope::Everything)?;
        let deprecated_names = select.deprecated_names();
        let from = From::Relation(&table.name);
        let read = self
            .resolver()
            .read(select, from, &table.name.name, Some(table))?;
        let output = self.output(&table.name, &read, !is_head)?;
        self.check_preferences()?;
        let plan = Plan::Read(ReadPlan {
            table,
            read,
            output,
            is_head,
        });
        Ok((plan, deprecated_names))
    }

    fn call(
        &self,
        function: &str,
        method: CallMethod,
    ) -> Result<PlanAndDeprecatedNames<'a>, RestError> {
        let routine = overload::find(self.cache, self.request, function, method)?;
        let select = self.select(Scope::Everything)?;
        let deprecated_names = select.deprecated_names();
        let relation = call::result_relation(routine);
        let output = |read: &ReadNode<'a>| {
            let output = self.output(&relation, read, method != CallMethod::Head)?;
            self.check_preferences()?;
            Ok(output)
        };
        let plan = self
            .resolver()
            .call(self.request, routine, method, select, output)?;
        Ok((Plan::Call(plan), deprecated_names))
    }

    fn select(&self, scope: Scope) -> Result<SelectNode<'a>, RestError> {
        let allows_deprecated_names = self.config.legacy_target_names;
        let mut select = SelectNode::new(&self.request.query, scope, allows_deprecated_names)?;
        if scope == Scope::Everything {
            select.range = self.request.root_range;
        }
        Ok(select)
    }

    fn resolver(&self) -> Resolver<'a> {
        let is_mutation = matches!(self.request.action, Action::Mutate { .. });
        Resolver {
            cache: self.cache,
            schema: &self.request.schema,
            allows_aggregates: self.config.aggregates_enabled,
            max_rows: self.config.max_rows.filter(|_| !is_mutation),
        }
    }

    fn output(
        &self,
        relation: &QualifiedName,
        read: &ReadNode<'a>,
        has_body: bool,
    ) -> Result<Output<'a>, RestError> {
        let offer = Offer {
            cache: self.cache,
            relation,
            selects_everything: read.selects_everything(),
            allows_plans: self.config.plan_enabled,
        };
        let mut output = negotiate(&self.request.accept, &offer)?;
        if !has_body {
            output.handler = Handler::Nothing;
        }
        Ok(output)
    }

    fn check_preferences(&self) -> Result<(), RestError> {
        let preferences = &self.request.preferences;
        if preferences.is_strict() && !preferences.invalid.is_empty() {
            Err(RestError::InvalidPreferences(preferences.invalid.clone()))
        } else {
            Ok(())
        }
    }

    fn check_document_type(&self) -> Result<(), RestError> {
        let accept = &self.request.accept;
        let is_offered = |media_type| {
            matches!(
                media_type,
                &MediaType::OpenApi | &MediaType::Json | &MediaType::Any
            )
        };
        if accept.iter().any(is_offered) {
            Ok(())
        } else {
            Err(RestError::NotAcceptable(
                accept.iter().map(MediaType::mime).collect(),
            ))
        }
    }
}

/// Larger schemas get no hints: comparing all names would take too long.
const MAX_RELATIONS_FOR_HINT: usize = 500;
/// The lowest similarity of a name in a hint.
const MIN_HINT_SCORE: f64 = 0.75;

fn find_table<'a>(
    cache: &'a SchemaCache,
    schema: &str,
    relation: &str,
) -> Result<&'a Table, RestError> {
    cache.table(schema, relation).ok_or_else(|| {
        let names: Vec<&str> = cache
            .tables_in(schema)
            .map(|table| &*table.name.name)
            .collect();
        let near = (names.len() < MAX_RELATIONS_FOR_HINT)
            .then(|| fuzzy::best_match(relation, names.into_iter(), MIN_HINT_SCORE))
            .flatten();
        RestError::NoTable {
            schema: schema.to_owned(),
            table: relation.to_owned(),
            hint: near.map(|near| format!("Perhaps you meant the table '{schema}.{near}'")),
        }
    })
}
