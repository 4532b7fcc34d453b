//! Who may see which rows: asked of the database, as whoever wants to know (§9.5).
//!
//! Subscribers whom the table's policies cannot tell apart are one group and ask once, for all rows
//! of a batch. The questions of many groups travel together on one connection.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::try_join_all;
use plinth_db::{DbError, End, Row, Step};
use plinth_project::{Caller, ProjectDb};
use tokio_postgres::types::ToSql;

use super::{policies::ClaimsUse, tables::Known};
use crate::{assume, subscriptions::Subscriber};

/// Groups whose questions travel together.
const GROUPS_TOGETHER: usize = 64;

/// Connections that are used at a time.
const CONNECTIONS: usize = 2;

/// A group of subscribers, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupId(usize);

/// All questions of a batch.
#[derive(Default)]
pub(super) struct Visibility {
    groups: Vec<Group>,
    by_subscriber: HashMap<(u32, u64), GroupId>,
    by_key: HashMap<(u32, Box<str>, Box<str>), GroupId>,
}

/// Subscribers who see the same of a table.
struct Group {
    caller: Caller,
    sql: Arc<str>,
    table: u32,
    /// The changes it has to know about, in their order.
    changes: Vec<usize>,
    visible: HashSet<usize>,
}

impl Visibility {
    /// Somebody wants to know whether a row can be seen; their group's answer will be theirs.
    /// `None` where there is no way to ask.
    pub(super) fn ask(
        &mut self,
        known: &Known,
        subscriber: &Subscriber,
        change: usize,
    ) -> Option<GroupId> {
        let id = self.group(known, subscriber)?;
        let group = &mut self.groups[id.0];
        if group.changes.last() != Some(&change) {
            group.changes.push(change);
        }
        Some(id)
    }

    fn group(&mut self, known: &Known, subscriber: &Subscriber) -> Option<GroupId> {
        let table = known.table.oid;
        let found = self.by_subscriber.get(&(table, subscriber.number));
        if let Some(id) = found {
            return Some(*id);
        }
        let caller = &subscriber.caller;
        let told_apart_by = match known.claims_use {
            ClaimsUse::Nothing => "",
            ClaimsUse::Subject => caller.sub().unwrap_or_default(),
            ClaimsUse::Everything => caller.claims(),
        };
        let key = (table, caller.role().into(), told_apart_by.into());
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => {
                let id = GroupId(self.groups.len());
                self.groups.push(Group {
                    caller: caller.clone(),
                    sql: known.visible_sql.clone()?,
                    table,
                    changes: Vec::new(),
                    visible: HashSet::new(),
                });
                self.by_key.insert(key, id);
                id
            }
        };
        self.by_subscriber.insert((table, subscriber.number), id);
        Some(id)
    }

    pub(super) fn can_see(&self, group: GroupId, change: usize) -> bool {
        self.groups[group.0].visible.contains(&change)
    }

    /// How many groups want to know about each of so many changes.
    pub(super) fn groups_per_change(&self, changes: usize) -> Vec<usize> {
        let mut counts = vec![0; changes];
        for change in self.groups.iter().flat_map(|group| &group.changes) {
            counts[*change] += 1;
        }
        counts
    }

    /// What is to be asked. `key` gives the primary key of a changed row.
    pub(super) fn questions<'k>(
        &self,
        key: impl Fn(usize) -> Option<Vec<&'k str>>,
    ) -> Vec<Question<'k>> {
        let questions = self.groups.iter().enumerate();
        let mut questions: Vec<_> = questions
            .map(|(number, group)| Question::new(GroupId(number), group, &key))
            .filter(|question| !question.changes.is_empty())
            .collect();
        // A statement is planned anew when the role changes.
        questions.sort_by(|a, b| {
            let (a, b) = (&self.groups[a.group.0], &self.groups[b.group.0]);
            (a.caller.role(), a.table).cmp(&(b.caller.role(), b.table))
        });
        questions
    }

    pub(super) fn learn(&mut self, answers: Vec<Answer>) {
        for Answer { group, visible } in answers {
            self.groups[group.0].visible = visible.into_iter().collect();
        }
    }
}

/// What one group asks.
pub(super) struct Question<'a> {
    group: GroupId,
    caller: Caller,
    sql: Arc<str>,
    /// The changes whose keys are asked for.
    changes: Vec<usize>,
    /// A list per column of the key.
    columns: Vec<Vec<&'a str>>,
}

/// The changes that a group can see.
pub(super) struct Answer {
    group: GroupId,
    visible: Vec<usize>,
}

impl<'a> Question<'a> {
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

    fn answer(&self, rows: &[Row]) -> Answer {
        let place = |row: &Row| {
            let place: i64 = row.try_get(0).ok()?;
            let place = usize::try_from(place).ok()?.checked_sub(1)?;
            self.changes.get(place).copied()
        };
        Answer {
            group: self.group,
            visible: rows.iter().filter_map(place).collect(),
        }
    }
}

/// Asks everything.
pub(super) async fn ask_all(
    db: &ProjectDb,
    questions: &[Question<'_>],
) -> Result<Vec<Answer>, DbError> {
    let chunks: Vec<_> = questions.chunks(GROUPS_TOGETHER).collect();
    let mut answers = Vec::with_capacity(questions.len());
    for together in chunks.chunks(CONNECTIONS) {
        let mut asking = Vec::with_capacity(CONNECTIONS);
        for chunk in together {
            asking.push(ask_together(db, chunk));
        }
        answers.extend(try_join_all(asking).await?.into_iter().flatten());
    }
    Ok(answers)
}

/// One transaction for all. If one of them fails, each asks alone, and those whose policies fail
/// see nothing.
async fn ask_together(db: &ProjectDb, questions: &[Question<'_>]) -> Result<Vec<Answer>, DbError> {
    match run(db, questions).await {
        Ok(answers) => return Ok(answers),
        Err(error) if error.refusal().is_none() => return Err(error),
        Err(_) => {}
    }
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        match run(db, std::slice::from_ref(question)).await {
            Ok(answer) => answers.extend(answer),
            Err(error) if error.refusal().is_none() => return Err(error),
            Err(error) => tracing::debug!(code = "RlsPolicyError", "nothing is seen: {error}"),
        }
    }
    Ok(answers)
}

type Param<'a> = &'a (dyn ToSql + Sync);

async fn run(db: &ProjectDb, questions: &[Question<'_>]) -> Result<Vec<Answer>, DbError> {
    let mut texts = Vec::with_capacity(questions.len());
    for Question { caller, .. } in questions {
        texts.push(assume::texts(caller));
    }
    let mut params: Vec<(Vec<Param<'_>>, Vec<Param<'_>>)> = Vec::with_capacity(questions.len());
    for (question, texts) in questions.iter().zip(&texts) {
        let become_one: Vec<Param<'_>> = texts.iter().map(|text| text as Param<'_>).collect();
        let keys = question.columns.iter().map(|column| column as Param<'_>);
        params.push((become_one, keys.collect()));
    }
    let mut steps = Vec::with_capacity(questions.len() * 2);
    for (question, (become_one, keys)) in questions.iter().zip(&params) {
        steps.push(Step::typed(assume::BECOME, become_one));
        steps.push(Step::typed(&question.sql, keys));
    }
    let nobody = assume::nobody_yet();
    let asking = db.as_caller(&nobody).read_only();
    let replies = asking.run(&steps, End::Commit).await?;
    let found = replies.chunks(2).zip(questions);
    let answer = |(rows, question): (&[Vec<Row>], &Question<'_>)| {
        question.answer(rows.get(1).map_or(&[], Vec::as_slice))
    };
    Ok(found.map(answer).collect())
}
