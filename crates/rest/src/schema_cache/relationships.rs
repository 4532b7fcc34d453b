//! Relationships of foreign keys, between tables and between views that have the key's columns.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Join, Link, QualifiedName, Relationship,
    constraints::{Constraint, KeyColumns, Kind},
    junctions,
    provenance::Provenance,
    relations::Relation,
};

/// One side of a foreign key: the table, or a view that has all columns of the key.
struct End<'a> {
    name: &'a QualifiedName,
    is_view: bool,
    columns: Vec<Arc<str>>,
}

/// All relationships, in both directions. Those with an end or junction that is not exposed are
/// left out: no request can use them.
pub(super) fn detect(
    constraints: &[Constraint],
    provenance: &Provenance,
    relations: &HashMap<u32, Relation>,
    is_exposed: impl Fn(&str) -> bool,
) -> Vec<Relationship> {
    let unique_keys = unique_keys(constraints);
    let mut found = Vec::new();
    for constraint in constraints {
        let Kind::Foreign(target) = &constraint.kind else {
            continue;
        };
        let origin = &constraint.columns;
        let is_one_to_one = unique_keys.contains(&(origin.relation, sorted(&origin.positions)));
        let origins = ends(origin, provenance, &is_exposed);
        let targets = ends(target, provenance, &is_exposed);
        for from in &origins {
            for to in &targets {
                let is_self = match (from.is_view, to.is_view) {
                    (false, false) => origin.relation == target.relation,
                    (true, true) => from.name == to.name,
                    _ => false,
                };
                found.push(relationship(constraint, from, to, is_self, is_one_to_one));
            }
        }
    }
    let inverse: Vec<_> = found.iter().filter_map(inverse).collect();
    let through_junctions = junctions::detect(&found, relations);
    found.extend(inverse);
    found.extend(through_junctions);
    found
}

/// Relation and sorted column positions of all primary keys and unique constraints.
fn unique_keys(constraints: &[Constraint]) -> HashSet<(u32, Vec<i16>)> {
    constraints
        .iter()
        .filter(|constraint| !matches!(constraint.kind, Kind::Foreign(_)))
        .map(|constraint| &constraint.columns)
        .map(|key| (key.relation, sorted(&key.positions)))
        .collect()
}

fn sorted(positions: &[i16]) -> Vec<i16> {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    sorted
}

fn ends<'a>(
    key: &'a KeyColumns,
    provenance: &'a Provenance,
    is_exposed: impl Fn(&str) -> bool,
) -> Vec<End<'a>> {
    let table = is_exposed(&key.relation_name.schema).then(|| End {
        name: &key.relation_name,
        is_view: false,
        columns: key.names.clone(),
    });
    let views = provenance.keys(key.relation, &key.positions);
    let views = views.map(|(name, columns)| End {
        name,
        is_view: true,
        columns,
    });
    table.into_iter().chain(views).collect()
}

fn relationship(
    constraint: &Constraint,
    from: &End<'_>,
    to: &End<'_>,
    is_self: bool,
    is_one_to_one: bool,
) -> Relationship {
    let pairs = from.columns.iter().cloned().zip(to.columns.iter().cloned());
    let join = Join {
        constraint: constraint.name.clone(),
        columns: pairs.collect(),
    };
    Relationship {
        table: from.name.clone(),
        foreign_table: to.name.clone(),
        is_self,
        table_is_view: from.is_view,
        foreign_table_is_view: to.is_view,
        link: if is_one_to_one {
            let is_parent = false;
            Link::OneToOne { join, is_parent }
        } else {
            Link::ManyToOne(join)
        },
    }
}

/// The same foreign key from its other side.
fn inverse(relationship: &Relationship) -> Option<Relationship> {
    let link = match &relationship.link {
        Link::ManyToOne(join) => Link::OneToMany(join.reversed()),
        Link::OneToOne { join, is_parent } => Link::OneToOne {
            join: join.reversed(),
            is_parent: !is_parent,
        },
        Link::OneToMany(_) | Link::ManyToMany(_) | Link::Computed { .. } => return None,
    };
    Some(Relationship {
        table: relationship.foreign_table.clone(),
        foreign_table: relationship.table.clone(),
        is_self: relationship.is_self,
        table_is_view: relationship.foreign_table_is_view,
        foreign_table_is_view: relationship.table_is_view,
        link,
    })
}
