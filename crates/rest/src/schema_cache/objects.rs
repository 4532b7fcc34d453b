//! Builds a cache from objects: drops what requests cannot reach, and sorts the rest.

use std::sync::Arc;

use super::{
    MediaHandler, Relationship, Representation, Routine, SchemaCache, SchemaObjects, Table,
};

/// The objects of a database, in any order.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) tables: Vec<Table>,
    pub(crate) relationships: Vec<Relationship>,
    pub(crate) routines: Vec<Routine>,
    pub(crate) representations: Vec<Representation>,
    pub(crate) media_handlers: Vec<MediaHandler>,
}

impl SchemaCache {
    /// Objects outside of the exposed `schemas` are dropped.
    pub(crate) fn new(schemas: impl IntoIterator<Item = Arc<str>>, objects: Objects) -> Self {
        let mut cache = Self::default();
        for schema in schemas {
            cache.schemas.entry(schema).or_default();
        }
        for table in objects.tables {
            if let Some(schema) = cache.schemas.get_mut(&table.name.schema) {
                schema.tables.insert(table.name.name.clone(), table);
            }
        }
        for relationship in objects.relationships {
            cache.add_relationship(relationship);
        }
        for routine in objects.routines {
            if let Some(schema) = cache.schemas.get_mut(&routine.name.schema) {
                let overloads = schema.routines.entry(routine.name.name.clone());
                overloads.or_default().push(routine);
            }
        }
        for representation in objects.representations {
            let source = representation.source_type.clone();
            let of_source = cache.representations.entry(source);
            of_source.or_default().push(representation);
        }
        for handler in objects.media_handlers {
            let of_type = cache.media_handlers.entry(handler.media_type.clone());
            let of_type = of_type.or_default();
            if of_type.iter().all(|other| other.target != handler.target) {
                of_type.push(handler);
            }
        }
        cache
            .schemas
            .values_mut()
            .for_each(SchemaObjects::sort_and_shrink);
        cache
    }

    /// Dropped unless both ends, or the origin and the function, are in the same schema, and all
    /// relations in between are exposed.
    fn add_relationship(&mut self, relationship: Relationship) {
        let is_reachable = relationship.target_schema() == &relationship.table.schema
            && relationship
                .relations()
                .all(|name| self.schemas.contains_key(&name.schema));
        if is_reachable && let Some(schema) = self.schemas.get_mut(&relationship.table.schema) {
            let origin = relationship.table.name.clone();
            let of_origin = schema.relationships.entry(origin);
            of_origin.or_default().push(relationship);
        }
    }
}

impl SchemaObjects {
    /// Sorts the lists and frees excess capacity.
    fn sort_and_shrink(&mut self) {
        for of_origin in self.relationships.values_mut() {
            of_origin.sort_unstable_by(|a, b| a.sort_key().cmp(&b.sort_key()));
            of_origin.shrink_to_fit();
        }
        for overloads in self.routines.values_mut() {
            sort_overloads(overloads);
            overloads.shrink_to_fit();
        }
    }
}

/// Fewest parameters first, so that the order in messages is deterministic.
fn sort_overloads(overloads: &mut [Routine]) {
    overloads.sort_unstable_by(|a, b| {
        let by_count = a.params.len().cmp(&b.params.len());
        by_count
            .then_with(|| a.comment.cmp(&b.comment))
            .then_with(|| a.params.cmp(&b.params))
    });
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Join, Junction, Link, QualifiedName},
        *,
    };

    fn relationship(table: &str, foreign_table: &str, link: Link) -> Relationship {
        let name = |text: &str| match text.split_once('.') {
            Some((schema, name)) => QualifiedName::new(schema, name),
            None => QualifiedName::new("api", text),
        };
        Relationship {
            table: name(table),
            foreign_table: name(foreign_table),
            is_self: false,
            table_is_view: false,
            foreign_table_is_view: false,
            link,
        }
    }

    fn join(constraint: &str) -> Join {
        Join {
            constraint: constraint.into(),
            columns: Vec::new(),
        }
    }

    fn junction(schema: &str) -> Link {
        Link::ManyToMany(Junction {
            table: QualifiedName::new(schema, "middle"),
            source_constraint: "a".into(),
            target_constraint: "b".into(),
            source_columns: Vec::new(),
            target_columns: Vec::new(),
        })
    }

    fn cache(relationships: Vec<Relationship>) -> SchemaCache {
        let objects = Objects {
            relationships,
            ..Objects::default()
        };
        SchemaCache::new(["api", "other"].map(Arc::from), objects)
    }

    #[test]
    fn relationships_that_leave_the_exposed_schemas_are_left_out() {
        let computed = |schema: &str| Link::Computed {
            function: QualifiedName::new(schema, "f"),
            is_to_one: true,
        };
        let check = |foreign_table, link: Link, expected| {
            let cache = cache(vec![relationship("t", foreign_table, link)]);
            assert_eq!(
                cache.relationships("api", "t").len(),
                expected,
                "{foreign_table}"
            );
        };
        check("u", Link::ManyToOne(join("k")), 1);
        check("other.u", Link::ManyToOne(join("k")), 0);
        check("u", junction("other"), 1);
        check("u", junction("hidden"), 0);
        check("other.u", computed("api"), 1);
        check("hidden.u", computed("api"), 0);
        check("u", computed("other"), 0);
    }

    #[test]
    fn relationships_are_listed_by_table_then_kind_then_name() {
        let computed = Link::Computed {
            function: QualifiedName::new("api", "a"),
            is_to_one: true,
        };
        let expected = vec![
            relationship("t", "a", Link::ManyToOne(join("z"))),
            relationship("t", "b", Link::OneToMany(join("y"))),
            relationship("t", "b", Link::ManyToOne(join("a"))),
            relationship("t", "b", Link::ManyToOne(join("b"))),
            relationship("t", "b", junction("api")),
            relationship("t", "a", computed),
        ];
        let shuffled = expected.iter().rev().cloned().collect();

        assert_eq!(cache(shuffled).relationships("api", "t"), expected);
    }
}
