//! Reads the catalogs and builds the cache.
//!
//! All queries are pipelined, so the load takes two round trips. They run in one snapshot, and with
//! an empty search path, so that PostgreSQL qualifies all type names.

use std::{collections::HashMap, panic};

use postgres_types::Type;
use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::{
    Objects, SchemaCache, Scope, computed, constraints::Constraint, interner::Interner,
    media_handlers, node_tree, provenance::Provenance, relations, relationships, representations,
    routines,
};

/// JIT compilation would take longer than the queries.
const SETTINGS: &str = "set local search_path = ''; set local jit = off";
const NAMESPACES: &str = "select nspname as name from pg_namespace where nspname = any($1)";
const ENUMS: &str = "select enumtypid as type, array_agg(enumlabel::text order by enumsortorder) \
                     as labels from pg_enum group by enumtypid";

/// The result of each query.
struct Catalog {
    namespaces: Vec<Row>,
    relations: Vec<Row>,
    columns: Vec<Row>,
    enums: Vec<Row>,
    constraints: Vec<Row>,
    views: Vec<Row>,
    computed: Vec<Row>,
    routines: Vec<Row>,
    representations: Vec<Row>,
    media_handlers: Vec<Row>,
}

pub(super) async fn load(client: &mut Client, scope: &Scope) -> Result<SchemaCache, Error> {
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let catalog = Catalog::read(&transaction, scope).await?;
    transaction.rollback().await?;
    // Building the cache of a large schema would block requests on the same thread.
    let scope = scope.clone();
    match tokio::task::spawn_blocking(move || catalog.assemble(&scope)).await {
        Ok(assembled) => assembled,
        Err(failed) => match failed.try_into_panic() {
            Ok(reason) => panic::resume_unwind(reason),
            // Blocking tasks are cancelled only when the runtime shuts down.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}

impl Catalog {
    async fn read(transaction: &Transaction<'_>, scope: &Scope) -> Result<Self, Error> {
        let exposed = &scope.schemas;
        let visible = [&*scope.schemas, &*scope.extra_search_path].concat();
        let all = async |sql| transaction.query_typed(sql, &[]).await;
        let within = async |sql, schemas: &Vec<String>| {
            transaction
                .query_typed(sql, &[(schemas, Type::TEXT_ARRAY)])
                .await
        };
        let (
            (),
            namespaces,
            relations,
            columns,
            enums,
            constraints,
            views,
            computed,
            routines,
            representations,
            media_handlers,
        ) = tokio::try_join!(
            transaction.batch_execute(SETTINGS),
            within(NAMESPACES, &visible),
            within(include_str!("relations.sql"), exposed),
            within(include_str!("columns.sql"), exposed),
            all(ENUMS),
            all(include_str!("constraints.sql")),
            within(include_str!("views.sql"), &visible),
            within(include_str!("computed.sql"), exposed),
            within(include_str!("routines.sql"), exposed),
            all(include_str!("representations.sql")),
            within(include_str!("media_handlers.sql"), exposed),
        )?;
        Ok(Self {
            namespaces,
            relations,
            columns,
            enums,
            constraints,
            views,
            computed,
            routines,
            representations,
            media_handlers,
        })
    }

    fn assemble(self, scope: &Scope) -> Result<SchemaCache, Error> {
        let mut names = Interner::default();
        let mut relations =
            relations::from_rows(&self.relations, &self.columns, &self.enums, &mut names)?;
        let constraints = self
            .constraints
            .iter()
            .map(|row| Constraint::from_row(row, &mut names))
            .collect::<Result<Vec<_>, _>>()?;
        let provenance = Provenance::new(view_sources(&self.views)?, &relations);
        relations::set_primary_keys(&mut relations, &constraints, &provenance);

        let is_exposed = |schema: &str| scope.schemas.iter().any(|one| one == schema);
        let detected = relationships::detect(&constraints, &provenance, &relations, is_exposed);
        let computed = computed::from_rows(&self.computed, &mut names)?;
        let objects = Objects {
            tables: relations
                .into_values()
                .map(|relation| relation.table)
                .collect(),
            relationships: computed::replace(detected, computed),
            routines: routines::from_rows(&self.routines, &scope.hoisted_settings, &mut names)?,
            representations: representations::from_rows(&self.representations, &mut names)?,
            media_handlers: media_handlers::from_rows(&self.media_handlers, &mut names)?,
        };

        let schemas = scope.schemas.iter().map(|schema| names.share(schema));
        let mut cache = SchemaCache::new(schemas, objects);
        cache.missing_schemas = missing_schemas(scope, &self.namespaces)?;
        Ok(cache)
    }
}

/// By oid of the view: the relation and column that each of its columns comes from.
fn view_sources(rows: &[Row]) -> Result<HashMap<u32, node_tree::Sources>, Error> {
    rows.iter()
        .map(|row| {
            Ok((
                row.try_get("oid")?,
                node_tree::sources(row.try_get("query")?),
            ))
        })
        .collect()
}

fn missing_schemas(scope: &Scope, namespaces: &[Row]) -> Result<Vec<String>, Error> {
    let present = namespaces
        .iter()
        .map(|row| row.try_get::<_, &str>("name"))
        .collect::<Result<Vec<_>, _>>()?;
    let wanted = scope.schemas.iter().chain(&scope.extra_search_path);
    let missing = wanted.filter(|schema| !present.contains(&schema.as_str()));
    Ok(missing.cloned().collect())
}
