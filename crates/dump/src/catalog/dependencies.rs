//! The dependency graph from `pg_depend`.
//!
//! Parts of an object (a table's row type, the index of a constraint, the rule of a view) have no
//! statement of their own: a dependency on a part is one on the whole.

use std::collections::HashMap;

use tokio_postgres::Client;

use crate::DumpError;

/// An object's address in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    pub(super) class: u32,
    pub(super) object: u32,
}

pub(super) struct Edge {
    pub(super) from: ObjectId,
    pub(super) to: ObjectId,
}

pub(super) struct Dependencies {
    edges: Vec<Edge>,
    /// From a part to its whole.
    wholes: HashMap<ObjectId, ObjectId>,
    /// From an object to the extension that it is a member of.
    extensions: HashMap<ObjectId, ObjectId>,
    /// The OID of `pg_class`.
    relations: u32,
}

/// Maximum nesting of parts.
const MAX_DEPTH: usize = 6;

const EDGES: &str = "
    select classid, objid, refclassid, refobjid, deptype::text as kind
    from pg_depend
    where objid >= 16384 and (refobjid >= 16384 or refclassid = 'pg_namespace'::regclass)
      and deptype in ('n', 'a', 'i', 'e')";

/// A generated column's expression belongs to its table; members of operator families that were created
/// with a class belong to the class by themselves.
const GENERATED: &str = "
    select 'pg_attrdef'::regclass::oid as classid, d.oid as objid,
           'pg_class'::regclass::oid as refclassid, d.adrelid as refobjid
    from pg_attrdef d
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where a.attgenerated <> ''";

impl Dependencies {
    pub(super) async fn read(client: &Client) -> Result<Self, DumpError> {
        let relations = client
            .query_one("select 'pg_class'::regclass::oid", &[])
            .await?
            .get(0);
        let mut read = Self {
            edges: Vec::new(),
            wholes: HashMap::new(),
            extensions: HashMap::new(),
            relations,
        };
        let pair = |row: &tokio_postgres::Row| {
            let from = ObjectId {
                class: row.get("classid"),
                object: row.get("objid"),
            };
            let to = ObjectId {
                class: row.get("refclassid"),
                object: row.get("refobjid"),
            };
            (from, to)
        };
        for row in client.query(EDGES, &[]).await? {
            let (from, to) = pair(&row);
            match row.get::<_, &str>("kind") {
                "e" => {
                    read.extensions.insert(from, to);
                }
                "i" => {
                    read.wholes.insert(from, to);
                    read.edges.push(Edge { from, to });
                }
                _ => read.edges.push(Edge { from, to }),
            }
        }
        for row in client.query(GENERATED, &[]).await? {
            let (from, to) = pair(&row);
            read.wholes.insert(from, to);
        }
        Ok(read)
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(super) fn relation(&self, object: u32) -> ObjectId {
        ObjectId {
            class: self.relations,
            object,
        }
    }

    pub(super) fn is_of_extension(&self, object: ObjectId) -> bool {
        self.extensions.contains_key(&object)
    }

    /// The statement that creates the object or the whole that it is part of.
    pub(super) fn creator(
        &self,
        object: ObjectId,
        makers: &HashMap<ObjectId, usize>,
    ) -> Option<usize> {
        let mut object = object;
        for _ in 0..MAX_DEPTH {
            if let Some(&creator) = makers.get(&object) {
                return Some(creator);
            }
            object = *self.wholes.get(&object)?;
        }
        None
    }

    /// The same, or the extension that it is a member of.
    pub(super) fn creator_or_extension(
        &self,
        object: ObjectId,
        makers: &HashMap<ObjectId, usize>,
    ) -> Option<usize> {
        let mut object = object;
        for _ in 0..MAX_DEPTH {
            if let Some(&creator) = makers.get(&object) {
                return Some(creator);
            }
            object = *self
                .extensions
                .get(&object)
                .or_else(|| self.wholes.get(&object))?;
        }
        None
    }
}
