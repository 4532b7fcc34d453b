//! One batch of changes, from candidates to messages.

use std::{collections::HashSet, sync::Arc};

use plinth_db::DbError;
use plinth_project::{ProjectDb, Service};

use super::{
    Change,
    tables::{Known, Tables},
    tell,
    visibility::{GroupId, Visibility, ask_all},
};
use crate::{
    changes::{
        Event,
        ask::{self, FilterQuestion, ValueQuestion},
        decide::{Decision, decide_all},
        message::{ChangedRow, Refusal},
        table::Rights,
    },
    hub::Hub,
    subscriptions::Subscription,
};

/// Somebody who is to be told of a change.
pub(super) struct Recipient {
    pub(super) subscription: Arc<Subscription>,
    pub(super) rights: Arc<Rights>,
    /// Why they are told that there is something, and not what.
    pub(super) refusal: Option<Refusal>,
    sight: Sight,
}

/// Whether they see the row.
#[derive(Clone, Copy)]
enum Sight {
    /// Nobody need be asked.
    Free,
    /// As their group does.
    Asked(GroupId),
    /// There is no way to find out.
    Blind,
}

/// Delivers changes in their order. Fails only where trying again makes sense, or nothing does.
pub(super) async fn deliver(
    db: &ProjectDb,
    hub: &Hub,
    tables: &mut Tables,
    changes: &[Change],
) -> Result<(), DbError> {
    let oids: HashSet<u32> = changes.iter().map(|change| change.relation.oid).collect();
    tables
        .learn(db, &hub.subscriptions, oids.into_iter())
        .await?;
    let candidates = candidates(hub, tables, changes);
    learn_rights(db, tables, changes, &candidates).await?;
    let mut fitting = decide(db, tables, changes, candidates).await?;
    ask_policies(db, hub, tables, changes, &mut fitting).await?;
    let mut rows = rows(tables, changes, &fitting);
    complete(db, &mut rows).await?;
    for ((change, recipients), row) in changes.iter().zip(&fitting).zip(&rows) {
        tell::tell(hub, change, recipients, row.as_ref().map(|(row, _)| row));
    }
    hub.numbers.changes.increment(changes.len() as u64);
    Ok(())
}

fn candidates(hub: &Hub, tables: &Tables, changes: &[Change]) -> Vec<Vec<Arc<Subscription>>> {
    let candidates = |change: &Change| {
        let Some(known) = tables.get(change.relation.oid) else {
            return Vec::new();
        };
        let (table, event) = (&known.table, change.event());
        match known.has_no_key() && event != Event::Delete {
            true => hub.subscriptions.all(table.oid, event),
            false => hub
                .subscriptions
                .candidates(table, event, |column| change.value(column)),
        }
    };
    changes.iter().map(candidates).collect()
}

async fn learn_rights(
    db: &ProjectDb,
    tables: &mut Tables,
    changes: &[Change],
    candidates: &[Vec<Arc<Subscription>>],
) -> Result<(), DbError> {
    let mut unknown: HashSet<(u32, &str)> = HashSet::new();
    for (change, candidates) in changes.iter().zip(candidates) {
        let Some(known) = tables.get(change.relation.oid) else {
            continue;
        };
        for subscription in candidates {
            let role = subscription.subscriber.caller.role();
            if !known.knows_rights(role) {
                unknown.insert((change.relation.oid, role));
            }
        }
    }
    for (table, role) in unknown {
        tables.learn_rights(db, table, role).await?;
    }
    Ok(())
}

/// Those whose filters fit, or who are to be told that they may not know.
async fn decide(
    db: &ProjectDb,
    tables: &Tables,
    changes: &[Change],
    candidates: Vec<Vec<Arc<Subscription>>>,
) -> Result<Vec<Vec<Recipient>>, DbError> {
    let mut asking = Vec::new();
    let mut fitting: Vec<Vec<Recipient>> = Vec::with_capacity(changes.len());
    for (place, (change, candidates)) in changes.iter().zip(candidates).enumerate() {
        let mut recipients = Vec::with_capacity(candidates.len());
        for subscription in candidates {
            let known = tables.get(change.relation.oid);
            let role = subscription.subscriber.caller.role();
            let Some((known, rights)) = known.and_then(|known| Some((known, known.rights(role)?)))
            else {
                continue;
            };
            let refusal = refusal(known, rights, change.event());
            let decision = match refusal {
                Some(_) => Decision::Match,
                None => decide_all(&subscription.conditions, |column| change.value(column)),
            };
            match decision {
                Decision::NoMatch => continue,
                Decision::Match => {}
                Decision::Ask => asking.push((place, recipients.len())),
            }
            recipients.push(Recipient {
                rights: rights.clone(),
                subscription,
                refusal,
                sight: Sight::Free,
            });
        }
        fitting.push(recipients);
    }
    if !asking.is_empty() {
        remove_unfitting(db, tables, changes, &mut fitting, &asking).await?;
    }
    Ok(fitting)
}

fn refusal(known: &Known, rights: &Rights, event: Event) -> Option<Refusal> {
    match event {
        Event::Delete => None,
        _ if known.has_no_key() => Some(Refusal::NoPrimaryKey),
        _ if !rights.can_read_key(&known.table) => Some(Refusal::Unauthorized),
        _ => None,
    }
}

/// Asks the database about filters that only it can decide.
async fn remove_unfitting(
    db: &ProjectDb,
    tables: &Tables,
    changes: &[Change],
    fitting: &mut [Vec<Recipient>],
    asking: &[(usize, usize)],
) -> Result<(), DbError> {
    let mut questions = Vec::new();
    let mut owners = Vec::new();
    for (place, recipient) in asking {
        let change = &changes[*place];
        let Some(known) = tables.get(change.relation.oid) else {
            continue;
        };
        for condition in &fitting[*place][*recipient].subscription.conditions {
            let filter = condition.filter();
            let value = change.value(&filter.column);
            let column = known.table.column(&filter.column);
            if condition.decide(value) != Decision::Ask {
                continue;
            }
            questions.push(FilterQuestion {
                filter,
                type_oid: column.map_or(0, |column| column.type_oid),
                value: match value {
                    Some(plinth_db::replication::pgoutput::Value::Text(text)) => {
                        str::from_utf8(text).ok()
                    }
                    _ => None,
                },
            });
            owners.push((*place, *recipient));
        }
    }
    let answers = fits(db, &questions).await?;
    let unfitting: HashSet<(usize, usize)> = owners
        .into_iter()
        .zip(answers)
        .filter(|(_, fits)| !fits)
        .map(|(owner, _)| owner)
        .collect();
    for (place, recipients) in fitting.iter_mut().enumerate() {
        let mut number = 0;
        recipients.retain(|_| {
            let stays = !unfitting.contains(&(place, number));
            number += 1;
            stays
        });
    }
    Ok(())
}

/// A value that the database cannot compare fits nothing, and spoils no other question.
async fn fits(db: &ProjectDb, questions: &[FilterQuestion<'_>]) -> Result<Vec<bool>, DbError> {
    let mut connection = db.as_service(Service::Realtime).await?;
    match ask::fits(&mut connection, questions).await {
        Err(error) if error.refusal().is_some() => {}
        answers => return answers,
    }
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        match ask::fits(&mut connection, std::slice::from_ref(question)).await {
            Ok(answer) => answers.extend(answer),
            Err(error) if error.refusal().is_some() => answers.push(false),
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}

/// Leaves those who may see the rows.
async fn ask_policies(
    db: &ProjectDb,
    hub: &Hub,
    tables: &Tables,
    changes: &[Change],
    fitting: &mut [Vec<Recipient>],
) -> Result<(), DbError> {
    let mut visibility = Visibility::default();
    for (place, (change, recipients)) in changes.iter().zip(fitting.iter_mut()).enumerate() {
        let Some(known) = tables.get(change.relation.oid) else {
            continue;
        };
        if !known.table.has_row_security || change.event() == Event::Delete {
            continue;
        }
        for recipient in recipients.iter_mut() {
            if recipient.refusal.is_none() && !recipient.rights.bypasses_row_security {
                let subscriber = &recipient.subscription.subscriber;
                let group = visibility.ask(known, subscriber, place);
                recipient.sight = group.map_or(Sight::Blind, Sight::Asked);
            }
        }
    }
    let questions = visibility.questions(|place| {
        let change = changes.get(place)?;
        change.key(&tables.get(change.relation.oid)?.table)
    });
    for groups in visibility.groups_per_change(changes.len()) {
        hub.numbers.groups.record(groups as f64);
    }
    let answers = ask_all(db, &questions).await?;
    visibility.learn(answers);
    for (place, recipients) in fitting.iter_mut().enumerate() {
        recipients.retain(|recipient| match recipient.sight {
            Sight::Free => true,
            Sight::Asked(group) => visibility.can_see(group, place),
            Sight::Blind => false,
        });
    }
    Ok(())
}

type Row<'a> = Option<(ChangedRow<'a>, Vec<ValueQuestion>)>;

/// The values of the rows that somebody is told.
fn rows<'a>(tables: &'a Tables, changes: &'a [Change], fitting: &[Vec<Recipient>]) -> Vec<Row<'a>> {
    let row = |(change, recipients): (&'a Change, &Vec<Recipient>)| {
        let is_told = recipients
            .iter()
            .any(|recipient| recipient.refusal.is_none());
        let known = tables.get(change.relation.oid).filter(|_| is_told)?;
        Some(change.row(&known.table))
    };
    changes.iter().zip(fitting).map(row).collect()
}

/// Asks the database for values of unusual types.
async fn complete(db: &ProjectDb, rows: &mut [Row<'_>]) -> Result<(), DbError> {
    let mut all = Vec::new();
    for (_, questions) in rows.iter().flatten() {
        all.extend(questions.iter().cloned());
    }
    if all.is_empty() {
        return Ok(());
    }
    let mut connection = db.as_service(Service::Realtime).await?;
    let together = match ask::as_json(&mut connection, &all).await {
        Ok(answers) => Some(answers),
        Err(error) if error.refusal().is_some() => None,
        Err(error) => return Err(error),
    };
    let mut taken = 0;
    for (row, questions) in rows.iter_mut().flatten() {
        match &together {
            _ if questions.is_empty() => {}
            Some(answers) => {
                let own = answers.get(taken..taken + questions.len());
                row.answer(own.unwrap_or_default());
                taken += questions.len();
            }
            // One that cannot be read any more, whose type is gone perhaps, spoils no other row.
            None => match ask::as_json(&mut connection, questions).await {
                Ok(answers) => row.answer(&answers),
                Err(error) if error.refusal().is_some() => row.answer(&[]),
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}
