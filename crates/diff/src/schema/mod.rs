//! A database's schema: the catalog of a dump, and the parts that can be altered in place.

mod details;
mod read;
mod rights;

use std::collections::{BTreeSet, HashMap};

use crate::ObjectName;

pub(crate) use details::{Column, Composite, Domain, Extension, Function, Table};
pub(crate) use rights::{Right, Rights, RightsOf, StartingKey, StartingRights};

/// An object with the statement that makes it.
pub(crate) struct Object {
    pub(crate) kind: &'static str,
    /// Its display name, unique within its kind.
    pub(crate) name: String,
    /// Makes it; the owner is apart, where one statement sets it.
    pub(crate) sql: String,
    pub(crate) owner: Option<Owner>,
    /// What it completes, or itself.
    pub(crate) subject: usize,
    /// The table or view that it belongs to.
    pub(crate) relation: Option<usize>,
    pub(crate) needs: BTreeSet<usize>,
    pub(crate) completes: bool,
    /// The parts of its name, as in `{public, todos, a policy}`, and the same quoted.
    pub(crate) names: Vec<String>,
    pub(crate) quoted: Vec<String>,
    pub(crate) arguments: Vec<String>,
    /// Of a table's check, whether the table's parent has it too.
    pub(crate) is_inherited: bool,
}

/// An owner, and the statement that sets it.
#[derive(PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) role: String,
    pub(crate) sql: String,
}

/// A column, by its table and its name.
pub(crate) type ColumnKey = (usize, String);

/// A database's schema at one moment.
pub struct Schema {
    /// Those that others depend on come first.
    pub(crate) objects: Vec<Object>,
    pub(crate) by_key: HashMap<(&'static str, String), usize>,
    /// What depends on each object.
    pub(crate) users: Vec<Vec<usize>>,
    pub(crate) tables: HashMap<usize, Table>,
    pub(crate) enums: HashMap<usize, Vec<String>>,
    pub(crate) composites: HashMap<usize, Composite>,
    pub(crate) domains: HashMap<usize, Domain>,
    pub(crate) functions: HashMap<usize, Function>,
    pub(crate) views: HashMap<usize, Vec<String>>,
    pub(crate) extensions: HashMap<usize, Extension>,
    /// Columns with each type, or with an array of it.
    pub(crate) columns_of_type: HashMap<usize, Vec<ColumnKey>>,
    /// What depends on single columns.
    pub(crate) users_of_column: HashMap<ColumnKey, Vec<usize>>,
    /// Generated columns that are computed of a column.
    pub(crate) generated_from: HashMap<ColumnKey, Vec<String>>,
    /// Indexes and constraints of partitions, with those of the parent.
    pub(crate) index_parents: HashMap<usize, usize>,
    pub(crate) rights: Vec<RightsOf>,
    pub(crate) starting_rights: StartingRights,
    pub(crate) notes: Vec<String>,
    /// The role that reads, and would make objects.
    pub(crate) role: String,
    pub(crate) quoted_role: String,
    pub(crate) is_superuser: bool,
    pub(crate) version: i32,
}

impl Schema {
    /// The schema that an object is in.
    pub(crate) fn schema_of(&self, object: &Object) -> Option<&str> {
        let subject = &self.objects[object.subject];
        match subject.kind {
            "extension"
            | "publication"
            | "event trigger"
            | "cast"
            | "transform"
            | "access method"
            | "foreign-data wrapper"
            | "foreign server"
            | "user mapping"
            | "default privileges of"
            | "large object" => None,
            _ => subject.names.first().map(String::as_str),
        }
    }

    /// The object that is shown as changed: a table for its parts, else the object itself.
    pub(crate) fn group_of(&self, at: usize) -> usize {
        let subject = self.objects[at].subject;
        let of = &self.objects[subject];
        let domain = || match (of.kind, of.names.as_slice()) {
            ("check of the domain", [schema, domain, _]) => {
                let is_it = |need: &&usize| {
                    let need = &self.objects[**need];
                    need.kind == "domain" && need.names == [schema.as_str(), domain.as_str()]
                };
                of.needs.iter().find(is_it).copied()
            }
            _ => None,
        };
        of.relation
            .or(self.objects[at].relation)
            .or_else(domain)
            .unwrap_or(subject)
    }

    /// An object as it is shown.
    pub(crate) fn name_of(&self, at: usize) -> ObjectName {
        let object = &self.objects[at];
        let schema = self.schema_of(object).filter(|_| object.kind != "schema");
        let name = match (object.kind, object.names.as_slice()) {
            ("function" | "aggregate", [_, name]) => {
                format!("{name}({})", object.arguments.join(", "))
            }
            (_, [_, parts @ ..]) if schema.is_some() && !parts.is_empty() => parts.join("."),
            _ => object.name.clone(),
        };
        ObjectName {
            kind: object.kind.to_owned(),
            schema: schema.map(str::to_owned),
            name,
        }
    }

    pub(crate) fn find(&self, kind: &'static str, name: &str) -> Option<usize> {
        self.by_key.get(&(kind, name.to_owned())).copied()
    }

    /// A table by its qualified name.
    pub(crate) fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.get(&self.find("table", name)?)
    }
}

impl Object {
    /// Its qualified name, quoted.
    pub(crate) fn qualified(&self) -> String {
        self.quoted.join(".")
    }

    /// The qualified name of the table that it belongs to.
    pub(crate) fn table(&self) -> String {
        self.quoted
            .get(..2)
            .map_or_else(String::new, |parts| parts.join("."))
    }

    /// The last part of its name, quoted.
    pub(crate) fn own_name(&self) -> &str {
        self.quoted.last().map_or("", String::as_str)
    }
}
