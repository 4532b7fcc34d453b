//! Many-to-many relationships, through a relation with two foreign keys inside its primary key.

use std::{collections::HashMap, sync::Arc};

use super::{Join, Junction, Link, QualifiedName, Relationship, relations::Relation};

/// `direct`: the relationships from the side of the foreign key. Every ordered pair of them with
/// the same junction gives a relationship.
pub(super) fn detect(
    direct: &[Relationship],
    relations: &HashMap<u32, Relation>,
) -> Vec<Relationship> {
    let mut legs: HashMap<&QualifiedName, Vec<Leg<'_>>> = HashMap::new();
    let primary_keys = primary_keys(relations);
    for relationship in direct {
        if let Link::ManyToOne(join) = &relationship.link
            && let Some(primary_key) = primary_keys.get(&relationship.table)
            && join
                .columns
                .iter()
                .all(|(own, _)| primary_key.contains(own))
        {
            let legs = legs.entry(&relationship.table).or_default();
            legs.push(Leg { relationship, join });
        }
    }
    let pairs = legs
        .into_iter()
        .flat_map(|(junction, legs)| pairs(junction, &legs));
    pairs.collect()
}

/// The foreign key from a junction to one of its ends.
struct Leg<'a> {
    relationship: &'a Relationship,
    join: &'a Join,
}

fn primary_keys(relations: &HashMap<u32, Relation>) -> HashMap<&QualifiedName, &[Arc<str>]> {
    relations
        .values()
        .map(|relation| &relation.table)
        .filter(|table| !table.primary_key.is_empty())
        .map(|table| (&table.name, &*table.primary_key))
        .collect()
}

fn pairs(junction: &QualifiedName, legs: &[Leg<'_>]) -> Vec<Relationship> {
    let mut pairs = Vec::new();
    for source in legs {
        for target in legs {
            let is_same_key = source.join.constraint == target.join.constraint;
            if !is_same_key && source.schema() == target.schema() {
                pairs.push(many_to_many(junction, source, target));
            }
        }
    }
    pairs
}

impl Leg<'_> {
    fn schema(&self) -> &str {
        &self.relationship.foreign_table.schema
    }
}

fn many_to_many(junction: &QualifiedName, source: &Leg<'_>, target: &Leg<'_>) -> Relationship {
    let table = &source.relationship.foreign_table;
    let foreign_table = &target.relationship.foreign_table;
    Relationship {
        table: table.clone(),
        foreign_table: foreign_table.clone(),
        is_self: table == foreign_table,
        table_is_view: source.relationship.foreign_table_is_view,
        foreign_table_is_view: target.relationship.foreign_table_is_view,
        link: Link::ManyToMany(Junction {
            table: junction.clone(),
            source_constraint: source.join.constraint.clone(),
            target_constraint: target.join.constraint.clone(),
            source_columns: source.join.reversed().columns,
            target_columns: target.join.reversed().columns,
        }),
    }
}
