//! The schema cache: relations, relationships and functions that requests can name (rest contract
//! §5.1).
//!
//! [`load`] reads PostgreSQL's catalogs; after that every lookup is served from memory. Names are
//! interned. When to load is up to `snapshot`, which relationship an embed means up to `plan`.

mod computed;
mod constraints;
mod interner;
mod junctions;
mod load;
mod media_handlers;
mod node_tree;
mod objects;
mod provenance;
mod relations;
mod relationships;
mod representations;
mod routines;
mod types;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

pub(crate) use objects::Objects;
pub(crate) use types::*;

/// The part of a database that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Exposed schemas.
    pub(crate) schemas: Vec<String>,
    /// Further schemas whose views can be between an exposed view and its tables.
    pub(crate) extra_search_path: Vec<String>,
    /// Names of function settings that apply to the whole transaction.
    pub(crate) hoisted_settings: Vec<String>,
}

/// The exposed schemas as of one moment.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    schemas: HashMap<Arc<str>, SchemaObjects>,
    /// By source type.
    representations: HashMap<Arc<str>, Vec<Representation>>,
    /// By media type.
    media_handlers: HashMap<Box<str>, Vec<MediaHandler>>,
    missing_schemas: Vec<String>,
}

/// The objects of one exposed schema, by name.
#[derive(Debug, Default)]
struct SchemaObjects {
    tables: BTreeMap<Arc<str>, Table>,
    /// By origin. Only relationships with both ends in this schema can be used.
    relationships: BTreeMap<Arc<str>, Vec<Relationship>>,
    routines: BTreeMap<Arc<str>, Vec<Routine>>,
}

impl SchemaCache {
    /// Reads the catalogs over a connection of the login role, in one read-only transaction.
    pub(crate) async fn load(
        client: &mut tokio_postgres::Client,
        scope: &Scope,
    ) -> Result<Self, tokio_postgres::Error> {
        load::load(client, scope).await
    }

    pub(crate) fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        self.schemas.get(schema)?.tables.get(name)
    }

    /// Sorted by name.
    pub(crate) fn tables_in<'a>(
        &'a self,
        schema: &str,
    ) -> impl Iterator<Item = &'a Table> + use<'a> {
        self.objects_of(schema)
            .flat_map(|objects| objects.tables.values())
    }

    /// Relationships whose origin is `schema.origin` and whose other end, or function, is in the
    /// same schema; sorted as ambiguous ones are listed to clients (§5.4).
    pub(crate) fn relationships(&self, schema: &str, origin: &str) -> &[Relationship] {
        let objects = self.schemas.get(schema);
        objects
            .and_then(|objects| objects.relationships.get(origin))
            .map_or(&[], Vec::as_slice)
    }

    /// Relations that have relationships, sorted by name.
    pub(crate) fn origins_in<'a>(
        &'a self,
        schema: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        self.objects_of(schema)
            .flat_map(|objects| objects.relationships.keys().map(|origin| &**origin))
    }

    /// Whether there is a relation or function of this name.
    pub(crate) fn has(&self, schema: &str, name: &str) -> bool {
        self.table(schema, name).is_some() || !self.routines(schema, name).is_empty()
    }

    /// All overloads of a function, those with fewer parameters first.
    pub(crate) fn routines(&self, schema: &str, name: &str) -> &[Routine] {
        let objects = self.schemas.get(schema);
        objects
            .and_then(|objects| objects.routines.get(name))
            .map_or(&[], Vec::as_slice)
    }

    /// Sorted by name.
    pub(crate) fn routines_in<'a>(
        &'a self,
        schema: &str,
    ) -> impl Iterator<Item = &'a Routine> + use<'a> {
        self.objects_of(schema)
            .flat_map(|objects| objects.routines.values().flatten())
    }

    /// The domain representation that casts one type to the other.
    pub(crate) fn representation(
        &self,
        source_type: &str,
        target_type: &str,
    ) -> Option<&Representation> {
        let of_source = self.representations.get(source_type)?;
        of_source
            .iter()
            .find(|representation| *representation.target_type == *target_type)
    }

    /// The handler of exactly this media type (in lower case) and relation or function; `None`
    /// means handlers for any relation. Fallbacks are up to negotiation.
    pub(crate) fn media_handler(
        &self,
        target: Option<(&str, &str)>,
        media_type: &str,
    ) -> Option<&MediaHandler> {
        let of_type = self.media_handlers.get(media_type)?;
        of_type.iter().find(|handler| {
            let its_target = handler.target.as_ref();
            its_target.map(|name| (&*name.schema, &*name.name)) == target
        })
    }

    /// Schemas of the scope that do not exist.
    pub(crate) fn missing_schemas(&self) -> &[String] {
        &self.missing_schemas
    }

    pub(crate) fn counts(&self) -> Counts {
        let schemas = || self.schemas.values();
        Counts {
            relations: schemas().map(|objects| objects.tables.len()).sum(),
            relationships: total(schemas().flat_map(|objects| objects.relationships.values())),
            functions: total(schemas().flat_map(|objects| objects.routines.values())),
            representations: total(self.representations.values()),
            handlers: total(self.media_handlers.values()),
        }
    }

    fn objects_of(&self, schema: &str) -> impl Iterator<Item = &SchemaObjects> + use<'_> {
        self.schemas.get(schema).into_iter()
    }
}

fn total<'a, T: 'a>(groups: impl Iterator<Item = &'a Vec<T>>) -> usize {
    groups.map(Vec::len).sum()
}

/// Counts of objects, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) relations: usize,
    pub(crate) relationships: usize,
    pub(crate) functions: usize,
    pub(crate) representations: usize,
    pub(crate) handlers: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} relations, {} relationships, {} functions, {} domain representations, \
             {} media type handlers",
            self.relations, self.relationships, self.functions, self.representations, self.handlers,
        )
    }
}
