//! Finds the relationship of an embed (rest contract §5.3, §5.4).

use std::sync::Arc;

use serde_json::{Value, json};

use super::fuzzy;
use crate::{
    RestError,
    schema_cache::{Join, Link, QualifiedName, Relationship, SchemaCache},
};

/// The relationship between `origin` and `target`, if there is exactly one.
pub(super) fn find<'a>(
    cache: &'a SchemaCache,
    schema: &str,
    origin: &str,
    target: &str,
    hint: Option<&str>,
) -> Result<&'a Relationship, RestError> {
    let candidates = cache.relationships(schema, origin);
    let found: Vec<&Relationship> = candidates
        .iter()
        .filter(|relationship| is_match(relationship, target, hint))
        .collect();
    match found.as_slice() {
        [] => Err(missing(cache, schema, origin, target, hint)),
        [only] => Ok(only),
        several => Err(ambiguous(origin, target, several)),
    }
}

fn is_match(relationship: &Relationship, target: &str, hint: Option<&str>) -> bool {
    let link = &relationship.link;
    let names_relation = *relationship.foreign_table.name == *target;
    match (link, hint) {
        (Link::Computed { function, .. }, _) => *function.name == *target,
        (Link::OneToMany(join), Some(hint)) if relationship.is_self => {
            names_relation && single_column(join).is_some_and(|(_, foreign)| foreign == hint)
        }
        (Link::OneToMany(_), None) if relationship.is_self => names_relation,
        (Link::ManyToOne(join), None) if relationship.is_self => {
            single_column(join).is_some_and(|(column, _)| column == target)
        }
        (_, _) if relationship.is_self => false,
        (_, None) => {
            let names_key = join_of(link).is_some_and(|join| {
                *join.constraint == *target
                    || single_column(join).is_some_and(|(column, _)| column == target)
            });
            names_relation || (names_key && !relationship.foreign_table_is_view)
        }
        (Link::ManyToMany(junction), Some(hint)) => names_relation && *junction.table.name == *hint,
        (_, Some(hint)) => {
            names_relation
                && join_of(link).is_some_and(|join| {
                    *join.constraint == *hint
                        || single_column(join)
                            .is_some_and(|(column, foreign)| column == hint || foreign == hint)
                })
        }
    }
}

fn join_of(link: &Link) -> Option<&Join> {
    match link {
        Link::ManyToOne(join) | Link::OneToMany(join) | Link::OneToOne { join, .. } => Some(join),
        Link::ManyToMany(_) | Link::Computed { .. } => None,
    }
}

fn single_column(join: &Join) -> Option<(&str, &str)> {
    match join.columns.as_slice() {
        [(column, foreign)] => Some((column, foreign)),
        _ => None,
    }
}

fn missing(
    cache: &SchemaCache,
    schema: &str,
    origin: &str,
    target: &str,
    hint: Option<&str>,
) -> RestError {
    let using = hint.map_or(String::new(), |hint| format!(" using the hint '{hint}'"));
    RestError::NoRelationship {
        origin: origin.to_owned(),
        target: target.to_owned(),
        details: format!(
            "Searched for a foreign key relationship between '{origin}' and '{target}'{using} in \
             the schema '{schema}', but no matches were found."
        ),
        hint: self::hint(cache, schema, origin, target),
    }
}

/// The lowest similarity of a name in a hint.
const MIN_HINT_SCORE: f64 = 0.33;

fn hint(cache: &SchemaCache, schema: &str, origin: &str, target: &str) -> Option<String> {
    let candidates = cache.relationships(schema, origin);
    if candidates.is_empty() {
        // The relation exists, so its name is not misspelt; it has no relationships.
        if cache.table(schema, origin).is_some() {
            return None;
        }
        let near = fuzzy::best_match(origin, cache.origins_in(schema), MIN_HINT_SCORE)?;
        return Some(format!("Perhaps you meant '{near}' instead of '{origin}'."));
    }
    let targets = candidates
        .iter()
        .map(|relationship| &*relationship.foreign_table.name);
    let near = fuzzy::best_match(target, targets, MIN_HINT_SCORE)?;
    if near.to_lowercase() == target.to_lowercase() {
        return None;
    }
    Some(format!("Perhaps you meant '{near}' instead of '{target}'."))
}

fn ambiguous(origin: &str, target: &str, found: &[&Relationship]) -> RestError {
    let mut sorted = found.to_vec();
    sorted.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    let ways: Vec<String> = sorted
        .iter()
        .map(|relationship| {
            let (_, _, by) = sort_key(relationship);
            format!("'{}!{by}'", relationship.foreign_table.name)
        })
        .collect();
    RestError::AmbiguousRelationship {
        origin: origin.to_owned(),
        target: target.to_owned(),
        details: sorted
            .iter()
            .map(|found| candidate_details(found))
            .collect(),
        hint: format!(
            "Try changing '{target}' to one of the following: {}. Find the desired relationship \
             in the 'details' key.",
            ways.join(", ")
        ),
    }
}

/// Foreign relation, cardinality, and what distinguishes it from others of the same kind.
fn sort_key(relationship: &Relationship) -> (&QualifiedName, u8, &str) {
    let (rank, by) = match &relationship.link {
        Link::OneToMany(join) => (0, &*join.constraint),
        Link::ManyToOne(join) => (1, &*join.constraint),
        Link::OneToOne { join, .. } => (2, &*join.constraint),
        Link::ManyToMany(junction) => (3, &*junction.table.name),
        Link::Computed { function, .. } => (4, &*function.name),
    };
    (&relationship.foreign_table, rank, by)
}

fn candidate_details(relationship: &Relationship) -> Value {
    let (origin, target) = (&relationship.table.name, &relationship.foreign_table.name);
    let by_key = |join: &Join| {
        format!(
            "{} using {origin}({}) and {target}({})",
            join.constraint,
            list(join.columns.iter().map(|(column, _)| column)),
            list(join.columns.iter().map(|(_, foreign)| foreign))
        )
    };
    let (cardinality, text) = match &relationship.link {
        Link::OneToMany(join) => ("one-to-many", by_key(join)),
        Link::ManyToOne(join) => ("many-to-one", by_key(join)),
        Link::OneToOne { join, .. } => ("one-to-one", by_key(join)),
        Link::ManyToMany(junction) => {
            let text = format!(
                "{} using {}({}) and {}({})",
                junction.table.name,
                junction.source_constraint,
                list(junction.source_columns.iter().map(|(_, column)| column)),
                junction.target_constraint,
                list(junction.target_columns.iter().map(|(_, column)| column))
            );
            ("many-to-many", text)
        }
        Link::Computed { function, .. } => ("computed", function.name.to_string()),
    };
    json!({
        "cardinality": cardinality,
        "embedding": format!("{origin} with {target}"),
        "relationship": text,
    })
}

fn list<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> String {
    names.map(|name| &**name).collect::<Vec<_>>().join(", ")
}
