//! What is known about tables whose rows change, for a while.

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

/// A table that changes is described anew with its next row; this is for what escapes that.
const LIFETIME: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Tables {
    known: HashMap<u32, Known>,
}

/// A table, and who may see what of it.
pub(super) struct Known {
    pub(super) table: Arc<Table>,
    /// What policies look at besides the role.
    pub(super) claims_use: ClaimsUse,
    /// Asks which of the given keys can be seen; `None` without a primary key.
    pub(super) visible_sql: Option<Arc<str>>,
    rights: HashMap<Box<str>, Option<Arc<Rights>>>,
    since: Instant,
    is_stale: bool,
}

impl Tables {
    pub(super) fn forget(&mut self, table: u32) {
        if let Some(known) = self.known.get_mut(&table) {
            known.is_stale = true;
        }
    }

    /// Looks everything up that is not known: the tables, and the rights of the roles that want to
    /// hear of them.
    pub(super) async fn learn(
        &mut self,
        db: &ProjectDb,
        subscriptions: &Subscriptions,
        wanted: impl Iterator<Item = u32>,
    ) -> Result<(), DbError> {
        for oid in wanted {
            let is_fresh = |known: &Known| !known.is_stale && known.since.elapsed() < LIFETIME;
            if self.known.get(&oid).is_some_and(is_fresh) {
                continue;
            }
            let mut connection = db.as_service(Service::Realtime).await?;
            let Some(table) = Table::find(&mut connection, oid).await? else {
                self.known.remove(&oid);
                continue;
            };
            let claims_use = claims_use(&mut connection, oid).await?;
            let before = self.known.get(&oid);
            if before.is_none_or(|before| *before.table != table) {
                subscriptions.rebind(&table);
            }
            let known = Known {
                claims_use,
                visible_sql: visible_sql(&table).map(Arc::from),
                table: Arc::new(table),
                rights: HashMap::new(),
                since: Instant::now(),
                is_stale: false,
            };
            self.known.insert(oid, known);
        }
        Ok(())
    }

    pub(super) fn get(&self, table: u32) -> Option<&Known> {
        self.known.get(&table)
    }

    /// What a role may see of a table that is known; `None` if there is no such role.
    pub(super) async fn learn_rights(
        &mut self,
        db: &ProjectDb,
        table: u32,
        role: &str,
    ) -> Result<(), DbError> {
        let Some(known) = self.known.get_mut(&table) else {
            return Ok(());
        };
        if let hash_map::Entry::Vacant(vacant) = known.rights.entry(role.into()) {
            let mut connection = db.as_service(Service::Realtime).await?;
            let rights = Rights::find(&mut connection, table, role).await?;
            vacant.insert(rights.map(Arc::new));
        }
        Ok(())
    }
}

impl Known {
    pub(super) fn has_no_key(&self) -> bool {
        self.visible_sql.is_none()
    }

    pub(super) fn rights(&self, role: &str) -> Option<&Arc<Rights>> {
        self.rights.get(role)?.as_ref()
    }

    pub(super) fn knows_rights(&self, role: &str) -> bool {
        self.rights.contains_key(role)
    }
}

/// Numbers of the keys, from 1 on, whose rows are there for whoever asks. A key is one text per
/// column.
fn visible_sql(table: &Table) -> Option<String> {
    let keys: Vec<_> = table.primary_key().collect();
    if keys.is_empty() {
        return None;
    }
    let numbers = || 1..=keys.len();
    let arrays: Vec<_> = numbers()
        .map(|n| format!("${n}::pg_catalog.text[]"))
        .collect();
    let names: Vec<_> = numbers().map(|n| format!("k{n}")).collect();
    let equal = keys.iter().zip(numbers()).map(|(column, n)| {
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
