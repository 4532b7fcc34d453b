//! What a request comes to: names looked up in the schema cache, joins chosen, the kind of body
//! agreed upon. No database is asked (rest contract §0, steps 10–16).

mod call;
mod draft;
mod field;
mod fuzzy;
mod mutation;
mod negotiate;
#[cfg(test)]
mod printer;
mod read;
mod relationship;
#[cfg(test)]
pub(crate) mod samples;
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
use draft::{Draft, Scope};
use negotiate::{Offer, negotiate};
use read::Resolver;
use tree::{From, ReadNode};

/// What is to be done, in full.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    Read(ReadPlan<'a>),
    Mutate(MutatePlan<'a>),
    Call(CallPlan<'a>),
    /// The OpenAPI document.
    Describe {
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

/// A plan, and names in the query string that will cease to work.
#[derive(Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) plan: Plan<'a>,
    /// Relation and the alias by which it should be named.
    pub(crate) old_names: Vec<(&'a str, &'a str)>,
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
        let (plan, old_names) = match &request.action {
            Action::Read { relation, is_head } => planner.read(relation, *is_head)?,
            Action::Mutate { relation, mutation } => {
                let table = find_table(cache, &request.schema, relation)?;
                let draft = planner.draft(mutation::SCOPE)?;
                let old_names = draft.old_names();
                let is_full = request.preferences.representation == Some(Representation::Full);
                let output = |read: &ReadNode<'a>| {
                    planner.check_preferences()?;
                    planner.output(&table.name, read, is_full)
                };
                let plan = planner
                    .resolver()
                    .mutate(request, table, *mutation, draft, output)?;
                (Plan::Mutate(plan), old_names)
            }
            Action::Call { function, method } => planner.call(function, *method)?,
            Action::FunctionInfo { function } => match planner.call(function, CallMethod::Head)? {
                (Plan::Call(call), old_names) => (Plan::FunctionInfo(call.routine), old_names),
                other => other,
            },
            Action::Describe { is_head } => {
                planner.check_document_type()?;
                (Plan::Describe { is_head: *is_head }, Vec::new())
            }
            Action::RelationInfo { relation } => {
                let table = find_table(cache, &request.schema, relation)?;
                (Plan::RelationInfo(table), Vec::new())
            }
            Action::SchemaInfo => (Plan::SchemaInfo, Vec::new()),
        };
        Ok(Planned { plan, old_names })
    }
}

type PlanAndOldNames<'a> = (Plan<'a>, Vec<(&'a str, &'a str)>);

struct Planner<'a, 'c> {
    request: &'a ApiRequest,
    cache: &'a SchemaCache,
    config: &'c RestConfig,
}

impl<'a> Planner<'a, '_> {
    fn read(&self, relation: &str, is_head: bool) -> Result<PlanAndOldNames<'a>, RestError> {
        let table = find_table(self.cache, &self.request.schema, relation)?;
        let draft = self.draft(Scope::Everything)?;
        let old_names = draft.old_names();
        let from = From::Relation(&table.name);
        let read = self
            .resolver()
            .read(draft, from, &table.name.name, Some(table))?;
        let output = self.output(&table.name, &read, !is_head)?;
        self.check_preferences()?;
        let plan = Plan::Read(ReadPlan {
            table,
            read,
            output,
            is_head,
        });
        Ok((plan, old_names))
    }

    fn call(&self, function: &str, method: CallMethod) -> Result<PlanAndOldNames<'a>, RestError> {
        let routine = call::find(self.cache, self.request, function, method)?;
        let draft = self.draft(Scope::Everything)?;
        let old_names = draft.old_names();
        let relation = call::result_relation(routine);
        let output = |read: &ReadNode<'a>| {
            let output = self.output(&relation, read, method != CallMethod::Head)?;
            self.check_preferences()?;
            Ok(output)
        };
        let plan = self
            .resolver()
            .call(self.request, routine, method, draft, output)?;
        Ok((Plan::Call(plan), old_names))
    }

    fn draft(&self, scope: Scope) -> Result<Draft<'a>, RestError> {
        let allows_old_names = self.config.legacy_target_names;
        let mut draft = Draft::new(&self.request.query, scope, allows_old_names)?;
        if scope == Scope::Everything {
            draft.range = self.request.root_range;
        }
        Ok(draft)
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
        match preferences.is_strict() && !preferences.invalid.is_empty() {
            true => Err(RestError::InvalidPreferences(preferences.invalid.clone())),
            false => Ok(()),
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
        match accept.iter().any(is_offered) {
            true => Ok(()),
            false => Err(RestError::NotAcceptable(
                accept.iter().map(MediaType::mime).collect(),
            )),
        }
    }
}

/// Schemas with more relations than this get no suggestions, which would take too long.
const MOST_SUGGESTIBLE: usize = 500;
const MIN_SCORE: f64 = 0.75;

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
        let near = (names.len() < MOST_SUGGESTIBLE)
            .then(|| fuzzy::best_match(relation, names.into_iter(), MIN_SCORE))
            .flatten();
        RestError::NoTable {
            schema: schema.to_owned(),
            table: relation.to_owned(),
            hint: near.map(|near| format!("Perhaps you meant the table '{schema}.{near}'")),
        }
    })
}
