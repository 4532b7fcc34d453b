//! One batch of row changes, from candidates to messages.

use std::{collections::HashSet, sync::Arc};

use plinth_db::{DbError, replication::pgoutput::Value};
use plinth_project::{ProjectDb, Service};

use super::{
    RowChange, fan_out,
    table_cache::{CachedTable, TableCache},
    visibility::{GroupId, VisibilityChecks, run_queries},
};
use crate::{
    changes::{
        Event,
        decide::{Decision, decide_all},
        message::{ChangeError, ChangedRow},
        queries::{self, FilterQuery, ValueCast},
        table::Rights,
    },
    hub::Hub,
    subscriptions::Subscription,
};

/// A subscription that a change is to be delivered to.
pub(super) struct Recipient {
    pub(super) subscription: Arc<Subscription>,
    pub(super) rights: Arc<Rights>,
    /// If the subscriber learns that there is a change, but not its values.
    pub(super) error: Option<ChangeError>,
    visibility: RowVisibility,
}

/// Whether the subscriber may see the row.
#[derive(Clone, Copy)]
enum RowVisibility {
    /// No policy applies.
    Unrestricted,
    /// As the group's query says.
    ByGroup(GroupId),
    /// There is no key to ask with.
    Hidden,
}

/// Delivers changes in their order. Safe to retry after an error: nothing was sent then.
pub(super) async fn deliver(
    db: &ProjectDb,
    hub: &Hub,
    tables: &mut TableCache,
    changes: &[RowChange],
) -> Result<(), DbError> {
    let oids: HashSet<u32> = changes.iter().map(|change| change.relation.oid).collect();
    tables
        .load_missing(db, &hub.subscriptions, oids.into_iter())
        .await?;
    let candidates = find_candidates(hub, tables, changes);
    load_rights(db, tables, changes, &candidates).await?;
    let mut recipients = apply_filters(db, tables, changes, candidates).await?;
    apply_policies(db, hub, tables, changes, &mut recipients).await?;
    let mut rows = render_rows(tables, changes, &recipients);
    cast_values(db, &mut rows).await?;
    for ((change, recipients), row) in changes.iter().zip(&recipients).zip(&rows) {
        fan_out::send(hub, change, recipients, row.as_ref().map(|(row, _)| row));
    }
    hub.metrics
        .changes_dispatched
        .increment(changes.len() as u64);
    Ok(())
}

fn find_candidates(
    hub: &Hub,
    tables: &TableCache,
    changes: &[RowChange],
) -> Vec<Vec<Arc<Subscription>>> {
    let candidates = |change: &RowChange| {
        let Some(cached) = tables.get(change.relation.oid) else {
            return Vec::new();
        };
        let (table, event) = (&cached.table, change.event());
        if cached.has_no_key() && event != Event::Delete {
            // All receive an error, whatever their filters.
            hub.subscriptions.all(table.oid, event)
        } else {
            hub.subscriptions
                .candidates(table, event, |column| change.value(column))
        }
    };
    changes.iter().map(candidates).collect()
}

async fn load_rights(
    db: &ProjectDb,
    tables: &mut TableCache,
    changes: &[RowChange],
    candidates: &[Vec<Arc<Subscription>>],
) -> Result<(), DbError> {
    let mut missing: HashSet<(u32, &str)> = HashSet::new();
    for (change, candidates) in changes.iter().zip(candidates) {
        let Some(cached) = tables.get(change.relation.oid) else {
            continue;
        };
        for subscription in candidates {
            let role = subscription.subscriber.caller.role();
            if !cached.has_loaded_rights(role) {
                missing.insert((change.relation.oid, role));
            }
        }
    }
    for (table, role) in missing {
        tables.load_rights(db, table, role).await?;
    }
    Ok(())
}

/// The candidates whose filters match, or who receive an error.
async fn apply_filters(
    db: &ProjectDb,
    tables: &TableCache,
    changes: &[RowChange],
    candidates: Vec<Vec<Arc<Subscription>>>,
) -> Result<Vec<Vec<Recipient>>, DbError> {
    let mut undecided = Vec::new();
    let mut matching: Vec<Vec<Recipient>> = Vec::with_capacity(changes.len());
    for (index, (change, candidates)) in changes.iter().zip(candidates).enumerate() {
        let mut recipients = Vec::with_capacity(candidates.len());
        for subscription in candidates {
            let cached = tables.get(change.relation.oid);
            let role = subscription.subscriber.caller.role();
            let Some((cached, rights)) =
                cached.and_then(|cached| Some((cached, cached.rights(role)?)))
            else {
                continue;
            };
            let error = change_error(cached, rights, change.event());
            let decision = match error {
                Some(_) => Decision::Match,
                None => decide_all(&subscription.conditions, |column| change.value(column)),
            };
            match decision {
                Decision::NoMatch => continue,
                Decision::Match => {}
                Decision::NeedsDatabase => undecided.push((index, recipients.len())),
            }
            recipients.push(Recipient {
                rights: rights.clone(),
                subscription,
                error,
                visibility: RowVisibility::Unrestricted,
            });
        }
        matching.push(recipients);
    }
    if !undecided.is_empty() {
        remove_not_matching(db, tables, changes, &mut matching, &undecided).await?;
    }
    Ok(matching)
}

fn change_error(cached: &CachedTable, rights: &Rights, event: Event) -> Option<ChangeError> {
    match event {
        Event::Delete => None,
        _ if cached.has_no_key() => Some(ChangeError::NoPrimaryKey),
        _ if !rights.can_read_key(&cached.table) => Some(ChangeError::Unauthorized),
        _ => None,
    }
}

/// Evaluates in the database the filters that only it can, and removes recipients that do not match.
async fn remove_not_matching(
    db: &ProjectDb,
    tables: &TableCache,
    changes: &[RowChange],
    recipients: &mut [Vec<Recipient>],
    undecided: &[(usize, usize)],
) -> Result<(), DbError> {
    let mut queries = Vec::new();
    let mut owners = Vec::new();
    for (index, recipient) in undecided {
        let change = &changes[*index];
        let Some(cached) = tables.get(change.relation.oid) else {
            continue;
        };
        for condition in &recipients[*index][*recipient].subscription.conditions {
            let filter = condition.filter();
            let value = change.value(&filter.column);
            let column = cached.table.column(&filter.column);
            if condition.decide(value) != Decision::NeedsDatabase {
                continue;
            }
            queries.push(FilterQuery {
                filter,
                type_oid: column.map_or(0, |column| column.type_oid),
                value: match value {
                    Some(Value::Text(text)) => str::from_utf8(text).ok(),
                    _ => None,
                },
            });
            owners.push((*index, *recipient));
        }
    }
    let matches = evaluate_filters(db, &queries).await?;
    let not_matching: HashSet<(usize, usize)> = owners
        .into_iter()
        .zip(matches)
        .filter(|(_, matches)| !matches)
        .map(|(owner, _)| owner)
        .collect();
    for (index, recipients) in recipients.iter_mut().enumerate() {
        let mut number = 0;
        recipients.retain(|_| {
            let stays = !not_matching.contains(&(index, number));
            number += 1;
            stays
        });
    }
    Ok(())
}

/// All in one query. If PostgreSQL rejects it, one by one: a value that it cannot compare matches
/// nothing and must not affect other filters.
async fn evaluate_filters(
    db: &ProjectDb,
    filters: &[FilterQuery<'_>],
) -> Result<Vec<bool>, DbError> {
    let mut connection = db.as_service(Service::Realtime).await?;
    match queries::evaluate_filters(&mut connection, filters).await {
        Err(error) if error.pg_error().is_some() => {}
        matches => return matches,
    }
    let mut matches = Vec::with_capacity(filters.len());
    for filter in filters {
        match queries::evaluate_filters(&mut connection, std::slice::from_ref(filter)).await {
            Ok(one) => matches.extend(one),
            Err(error) if error.pg_error().is_some() => matches.push(false),
            Err(error) => return Err(error),
        }
    }
    Ok(matches)
}

/// Removes recipients that may not see the rows.
async fn apply_policies(
    db: &ProjectDb,
    hub: &Hub,
    tables: &TableCache,
    changes: &[RowChange],
    recipients: &mut [Vec<Recipient>],
) -> Result<(), DbError> {
    let mut checks = VisibilityChecks::default();
    for (index, (change, recipients)) in changes.iter().zip(recipients.iter_mut()).enumerate() {
        let Some(cached) = tables.get(change.relation.oid) else {
            continue;
        };
        if !cached.table.has_row_security || change.event() == Event::Delete {
            continue;
        }
        for recipient in recipients.iter_mut() {
            if recipient.error.is_none() && !recipient.rights.bypasses_row_security {
                let subscriber = &recipient.subscription.subscriber;
                let group = checks.add(cached, subscriber, index);
                recipient.visibility = group.map_or(RowVisibility::Hidden, RowVisibility::ByGroup);
            }
        }
    }
    let queries = checks.queries(|index| {
        let change = changes.get(index)?;
        change.key(&tables.get(change.relation.oid)?.table)
    });
    for groups in checks.groups_per_change(changes.len()) {
        hub.metrics.policy_groups.record(groups as f64);
    }
    let results = run_queries(db, &queries).await?;
    checks.set_results(results);
    for (index, recipients) in recipients.iter_mut().enumerate() {
        recipients.retain(|recipient| match recipient.visibility {
            RowVisibility::Unrestricted => true,
            RowVisibility::ByGroup(group) => checks.can_see(group, index),
            RowVisibility::Hidden => false,
        });
    }
    Ok(())
}

type Row<'a> = Option<(ChangedRow<'a>, Vec<ValueCast>)>;

/// The rows that have a recipient, as JSON, and the values that only the database can convert.
fn render_rows<'a>(
    tables: &'a TableCache,
    changes: &'a [RowChange],
    recipients: &[Vec<Recipient>],
) -> Vec<Row<'a>> {
    let row = |(change, recipients): (&'a RowChange, &Vec<Recipient>)| {
        let is_needed = recipients.iter().any(|recipient| recipient.error.is_none());
        let cached = tables.get(change.relation.oid).filter(|_| is_needed)?;
        Some(change.render(&cached.table))
    };
    changes.iter().zip(recipients).map(row).collect()
}

/// Converts values of unusual types in the database.
async fn cast_values(db: &ProjectDb, rows: &mut [Row<'_>]) -> Result<(), DbError> {
    let mut all = Vec::new();
    for (_, casts) in rows.iter().flatten() {
        all.extend(casts.iter().cloned());
    }
    if all.is_empty() {
        return Ok(());
    }
    let mut connection = db.as_service(Service::Realtime).await?;
    let together = match queries::cast_to_json(&mut connection, &all).await {
        Ok(values) => Some(values),
        Err(error) if error.pg_error().is_some() => None,
        Err(error) => return Err(error),
    };
    let mut taken = 0;
    for (row, casts) in rows.iter_mut().flatten() {
        match &together {
            _ if casts.is_empty() => {}
            Some(values) => {
                let own = values.get(taken..taken + casts.len());
                row.set_cast_values(own.unwrap_or_default());
                taken += casts.len();
            }
            // A value whose type was dropped, perhaps: it must not affect other rows.
            None => match queries::cast_to_json(&mut connection, casts).await {
                Ok(values) => row.set_cast_values(&values),
                Err(error) if error.pg_error().is_some() => row.set_cast_values(&[]),
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}
