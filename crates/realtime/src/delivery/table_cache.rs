//! Cached catalog data of tables whose rows change.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
    time::Duration,
};

use plinth_db::{DbError, QuotedIdent};
use plinth_project::{ProjectDb, Service};
use tokio::time::Instant;

use super::policies::{ClaimsUse, claims_use};
use crate::{
    changes::{Table, table::Rights},
    subscriptions::Subscriptions,
};

/// A relation message invalidates a table; this is for changes that cause none, such as those of role
/// memberships.
const MAX_AGE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct TableCache {
    tables: HashMap<u32, CachedTable>,
}

/// A table, and what roles may see of it.
pub(super) struct CachedTable {
    pub(super) table: Arc<Table>,
    /// What its policies depend on besides the role.
    pub(super) claims_use: ClaimsUse,
    /// Selects which of the given keys are visible; `None` without a primary key.
    pub(super) visible_sql: Option<Arc<str>>,
    /// By role; `None` if there is no such role.
    rights: HashMap<Box<str>, Option<Arc<Rights>>>,
    loaded_at: Instant,
    is_stale: bool,
}

impl TableCache {
    pub(super) fn invalidate(&mut self, table: u32) {
        if let Some(cached) = self.tables.get_mut(&table) {
            cached.is_stale = true;
        }
    }

    /// Loads the tables that are not cached, or no longer valid.
    pub(super) async fn load_missing(
        &mut self,
        db: &ProjectDb,
        subscriptions: &Subscriptions,
        wanted: impl Iterator<Item = u32>,
    ) -> Result<(), DbError> {
        for oid in wanted {
            let is_fresh =
                |cached: &CachedTable| !cached.is_stale && cached.loaded_at.elapsed() < MAX_AGE;
            if self.tables.get(&oid).is_some_and(is_fresh) {
                continue;
            }
            let mut connection = db.as_service(Service::Realtime).await?;
            let Some(table) = Table::find(&mut connection, oid).await? else {
                self.tables.remove(&oid);
                continue;
            };
            let claims_use = claims_use(&mut connection, oid).await?;
            let before = self.tables.get(&oid);
            if before.is_none_or(|before| *before.table != table) {
                subscriptions.rebind(&table);
            }
            let cached = CachedTable {
                claims_use,
                visible_sql: visible_sql(&table).map(Arc::from),
                table: Arc::new(table),
                rights: HashMap::new(),
                loaded_at: Instant::now(),
                is_stale: false,
            };
            self.tables.insert(oid, cached);
        }
        Ok(())
    }

    pub(super) fn get(&self, table: u32) -> Option<&CachedTable> {
        self.tables.get(&table)
    }

    /// Loads what a role may see of a cached table.
    pub(super) async fn load_rights(
        &mut self,
        db: &ProjectDb,
        table: u32,
        role: &str,
    ) -> Result<(), DbError> {
        let Some(cached) = self.tables.get_mut(&table) else {
            return Ok(());
        };
        if let hash_map::Entry::Vacant(vacant) = cached.rights.entry(role.into()) {
            let mut connection = db.as_service(Service::Realtime).await?;
            let rights = Rights::find(&mut connection, table, role).await?;
            vacant.insert(rights.map(Arc::new));
        }
        Ok(())
    }
}

impl CachedTable {
    pub(super) fn has_no_key(&self) -> bool {
        self.visible_sql.is_none()
    }

    pub(super) fn rights(&self, role: &str) -> Option<&Arc<Rights>> {
        self.rights.get(role)?.as_ref()
    }

    pub(super) fn has_loaded_rights(&self, role: &str) -> bool {
        self.rights.contains_key(role)
    }
}

/// Selects the positions, from 1 on, of the given keys whose rows are visible. Each parameter is an
/// array with one column of the keys, as text.
fn visible_sql(table: &Table) -> Option<String> {
    let keys: Vec<_> = table.primary_key().collect();
    if keys.is_empty() {
        return None;
    }
    let indexes = || 1..=keys.len();
    let arrays: Vec<_> = indexes()
        .map(|n| format!("${n}::pg_catalog.text[]"))
        .collect();
    let names: Vec<_> = indexes().map(|n| format!("k{n}")).collect();
    let equal = keys.iter().zip(indexes()).map(|(column, n)| {
        let name = QuotedIdent::new(&column.name);
        format!("t.{name} = q.k{n}::{}", column.type_sql)
    });
    let equal: Vec<_> = equal.collect();
    Some(format!(
        "select q.place from unnest({}) with ordinality as q ({}, place) \
         where exists (select from {}.{} as t where {})",
        arrays.join(", "),
        names.join(", "),
        QuotedIdent::new(&table.schema),
        QuotedIdent::new(&table.name),
        equal.join(" and "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Column;

    #[test]
    fn a_key_may_have_several_columns_and_odd_names() {
        let key = |name, type_sql: &str| Column {
            is_primary_key: true,
            type_sql: type_sql.to_owned(),
            ..Column::for_test(name, 23)
        };
        let table = Table {
            oid: 1,
            schema: "my \"schema".to_owned(),
            name: "t".to_owned(),
            has_row_security: true,
            columns: vec![
                key("a b", "pg_catalog.int4"),
                Column::for_test("c", 25),
                key("d", "public.\"my type\""),
            ],
        };
        assert_eq!(
            visible_sql(&table).as_deref(),
            Some(
                "select q.place from unnest($1::pg_catalog.text[], $2::pg_catalog.text[]) \
                 with ordinality as q (k1, k2, place) \
                 where exists (select from \"my \"\"schema\".\"t\" as t \
                 where t.\"a b\" = q.k1::pg_catalog.int4 and t.\"d\" = q.k2::public.\"my type\")"
            )
        );
    }
}
