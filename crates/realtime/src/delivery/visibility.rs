//! Which rows subscribers may see, by queries in their roles (§9.5).
//!
//! Subscribers that the table's policies do not distinguish are one group, with one query for all
//! rows of a batch. The queries of many groups are pipelined on one connection.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::try_join_all;
use plinth_db::{DbError, End, Row, Step};
use plinth_project::{Caller, ProjectDb};
use tokio_postgres::types::ToSql;

use super::{policies::ClaimsUse, table_cache::CachedTable};
use crate::{caller_role, subscriptions::Subscriber};

/// Groups whose queries are one transaction.
const GROUPS_PER_TRANSACTION: usize = 64;

/// Connections used at a time.
const MAX_CONNECTIONS: usize = 2;

/// A group of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupId(usize);

/// All checks of a batch.
#[derive(Default)]
pub(super) struct VisibilityChecks {
    groups: Vec<Group>,
    by_subscriber: HashMap<(u32, u64), GroupId>,
    by_key: HashMap<(u32, Box<str>, Box<str>), GroupId>,
}

/// Subscribers that see the same rows of a table.
struct Group {
    caller: Caller,
    sql: Arc<str>,
    table: u32,
    /// Indexes of the changes to check, in order.
    changes: Vec<usize>,
    visible: HashSet<usize>,
}

impl VisibilityChecks {
    /// Adds a check whether a subscriber may see a changed row; its group has the result. `None`
    /// if it cannot be checked.
    pub(super) fn add(
        &mut self,
        cached: &CachedTable,
        subscriber: &Subscriber,
        change: usize,
    ) -> Option<GroupId> {
        let id = self.group(cached, subscriber)?;
        let group = &mut self.groups[id.0];
        if group.changes.last() != Some(&change) {
            group.changes.push(change);
        }
        Some(id)
    }

    fn group(&mut self, cached: &CachedTable, subscriber: &Subscriber) -> Option<GroupId> {
        let table = cached.table.oid;
        let found = self.by_subscriber.get(&(table, subscriber.id));
        if let Some(id) = found {
            return Some(*id);
        }
        let caller = &subscriber.caller;
        let distinguishing = match cached.claims_use {
            ClaimsUse::Nothing => "",
            ClaimsUse::Subject => caller.sub().unwrap_or_default(),
            ClaimsUse::Everything => caller.claims(),
        };
        let key = (table, caller.role().into(), distinguishing.into());
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => {
                let id = GroupId(self.groups.len());
                self.groups.push(Group {
                    caller: caller.clone(),
                    sql: cached.visible_sql.clone()?,
                    table,
                    changes: Vec::new(),
                    visible: HashSet::new(),
                });
                self.by_key.insert(key, id);
                id
            }
        };
        self.by_subscriber.insert((table, subscriber.id), id);
        Some(id)
    }

    pub(super) fn can_see(&self, group: GroupId, change: usize) -> bool {
        self.groups[group.0].visible.contains(&change)
    }

    /// How many groups are checked for each of so many changes.
    pub(super) fn groups_per_change(&self, changes: usize) -> Vec<usize> {
        let mut counts = vec![0; changes];
        for change in self.groups.iter().flat_map(|group| &group.changes) {
            counts[*change] += 1;
        }
        counts
    }

    /// The queries to run. `key` gives the primary key of a changed row.
    pub(super) fn queries<'k>(
        &self,
        key: impl Fn(usize) -> Option<Vec<&'k str>>,
    ) -> Vec<VisibilityQuery<'k>> {
        let groups = self.groups.iter().enumerate();
        let mut queries: Vec<_> = groups
            .map(|(number, group)| VisibilityQuery::new(GroupId(number), group, &key))
            .filter(|query| !query.changes.is_empty())
            .collect();
        // PostgreSQL replans a statement when the role changes.
        queries.sort_by(|a, b| {
            let (a, b) = (&self.groups[a.group.0], &self.groups[b.group.0]);
            (a.caller.role(), a.table).cmp(&(b.caller.role(), b.table))
        });
        queries
    }

    pub(super) fn set_results(&mut self, results: Vec<VisibleRows>) {
        for VisibleRows { group, visible } in results {
            self.groups[group.0].visible = visible.into_iter().collect();
        }
    }
}

/// The query of one group.
pub(super) struct VisibilityQuery<'a> {
    group: GroupId,
    caller: Caller,
    sql: Arc<str>,
    /// Indexes of the changes whose keys are looked up.
    changes: Vec<usize>,
    /// One list per column of the key.
    columns: Vec<Vec<&'a str>>,
}

/// The changes that a group may see.
pub(super) struct VisibleRows {
    group: GroupId,
    visible: Vec<usize>,
}

impl<'a> VisibilityQuery<'a> {
    fn new(id: GroupId, group: &Group, key: impl Fn(usize) -> Option<Vec<&'a str>>) -> Self {
        let mut changes = Vec::with_capacity(group.changes.len());
        let mut columns: Vec<Vec<&str>> = Vec::new();
        for change in &group.changes {
            let Some(key) = key(*change) else {
                continue;
            };
            columns.resize_with(key.len(), Vec::new);
            for (column, value) in columns.iter_mut().zip(key) {
                column.push(value);
            }
            changes.push(*change);
        }
        Self {
            group: id,
            caller: group.caller.clone(),
            sql: group.sql.clone(),
            changes,
            columns,
        }
    }

    fn result(&self, rows: &[Row]) -> VisibleRows {
        let change = |row: &Row| {
            let position: i64 = row.try_get(0).ok()?;
            let index = usize::try_from(position).ok()?.checked_sub(1)?;
            self.changes.get(index).copied()
        };
        VisibleRows {
            group: self.group,
            visible: rows.iter().filter_map(change).collect(),
        }
    }
}

/// Runs all queries.
pub(super) async fn run_queries(
    db: &ProjectDb,
    queries: &[VisibilityQuery<'_>],
) -> Result<Vec<VisibleRows>, DbError> {
    let chunks: Vec<_> = queries.chunks(GROUPS_PER_TRANSACTION).collect();
    let mut results = Vec::with_capacity(queries.len());
    for concurrent in chunks.chunks(MAX_CONNECTIONS) {
        let mut running = Vec::with_capacity(MAX_CONNECTIONS);
        for chunk in concurrent {
            running.push(run_chunk(db, chunk));
        }
        results.extend(try_join_all(running).await?.into_iter().flatten());
    }
    Ok(results)
}

/// One transaction for all. If a policy fails, each query runs alone, and groups whose policies fail
/// see nothing.
async fn run_chunk(
    db: &ProjectDb,
    queries: &[VisibilityQuery<'_>],
) -> Result<Vec<VisibleRows>, DbError> {
    match run_transaction(db, queries).await {
        Ok(results) => return Ok(results),
        Err(error) if error.pg_error().is_none() => return Err(error),
        Err(_) => {}
    }
    let mut results = Vec::with_capacity(queries.len());
    for query in queries {
        match run_transaction(db, std::slice::from_ref(query)).await {
            Ok(result) => results.extend(result),
            Err(error) if error.pg_error().is_none() => return Err(error),
            Err(error) => tracing::debug!(
                code = "RlsPolicyError",
                "policy check failed, rows treated as not visible: {error}"
            ),
        }
    }
    Ok(results)
}

type Param<'a> = &'a (dyn ToSql + Sync);

async fn run_transaction(
    db: &ProjectDb,
    queries: &[VisibilityQuery<'_>],
) -> Result<Vec<VisibleRows>, DbError> {
    let mut roles = Vec::with_capacity(queries.len());
    for VisibilityQuery { caller, .. } in queries {
        roles.push(caller_role::role_and_claims(caller));
    }
    let mut params: Vec<(Vec<Param<'_>>, Vec<Param<'_>>)> = Vec::with_capacity(queries.len());
    for (query, role) in queries.iter().zip(&roles) {
        let role: Vec<Param<'_>> = role.iter().map(|text| text as Param<'_>).collect();
        let keys = query.columns.iter().map(|column| column as Param<'_>);
        params.push((role, keys.collect()));
    }
    let mut steps = Vec::with_capacity(queries.len() * 2);
    for (query, (role, keys)) in queries.iter().zip(&params) {
        steps.push(Step::typed(caller_role::SET_ROLE_AND_CLAIMS, role));
        steps.push(Step::typed(&query.sql, keys));
    }
    let authenticator = caller_role::authenticator();
    let transaction = db.as_caller(&authenticator).read_only();
    let replies = transaction.run(&steps, End::Commit).await?;
    let found = replies.chunks(2).zip(queries);
    let result = |(rows, query): (&[Vec<Row>], &VisibilityQuery<'_>)| {
        query.result(rows.get(1).map_or(&[], Vec::as_slice))
    };
    Ok(found.map(result).collect())
}
