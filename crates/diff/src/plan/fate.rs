//! What happens to each object of the old schema.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{alter, columns};
use crate::{
    Schema, Scope,
    schema::{ColumnKey, Object},
};

/// Parts of tables and of other objects. They go before anything is altered; whole objects go when
/// nothing uses them any more.
const PARTS: &[&str] = &[
    "partition",
    "default",
    "owner of the sequence",
    "check of the domain",
    "check of the table",
    "not-null constraint",
    "constraint",
    "index",
    "index of a partition",
    "settings of the index",
    "settings of the table",
    "statistics",
    "foreign key",
    "rule",
    "trigger",
    "policy",
    "table of a publication",
    "schema of a publication",
    "comment on",
    "member of an operator family",
    "rows of the materialized view",
];

pub(super) const TYPES: &[&str] = &["enum type", "composite type", "domain", "range type"];

pub(super) struct Fate {
    /// From an object of the new schema to the same of the old one.
    pub(super) origin: Vec<Option<usize>>,
    /// Of each object of the old schema: whether it goes before anything is altered. It is made
    /// anew if the new schema has it.
    pub(super) goes_first: Vec<bool>,
    /// Whether it goes when everything is altered.
    pub(super) goes_last: Vec<bool>,
    /// Types that columns have: they are renamed, and go when the columns have the new ones.
    pub(super) renamed: BTreeMap<usize, String>,
    /// Columns of the old schema whose type is made anew.
    pub(super) retyped: BTreeSet<ColumnKey>,
    /// Columns that go and come again.
    pub(super) added_anew: BTreeSet<ColumnKey>,
}

impl Fate {
    pub(super) fn decide(from: &Schema, to: &Schema, scope: &Scope) -> Self {
        let mut deciding = Deciding::new(from, to, scope);
        deciding.removed_and_replaced();
        deciding.columns();
        deciding.name_clashes();
        deciding.fate
    }

    pub(super) fn goes(&self, at: usize) -> bool {
        self.goes_first[at] || self.goes_last[at]
    }
}

struct Deciding<'a> {
    from: &'a Schema,
    to: &'a Schema,
    scope: &'a Scope,
    /// From an object of the old schema to the same of the new one.
    heir: Vec<Option<usize>>,
    fate: Fate,
}

impl<'a> Deciding<'a> {
    fn new(from: &'a Schema, to: &'a Schema, scope: &'a Scope) -> Self {
        let key = |object: &Object| (object.kind, object.name.clone());
        let origin: Vec<_> = to
            .objects
            .iter()
            .map(|object| from.by_key.get(&key(object)).copied())
            .collect();
        let heir = from
            .objects
            .iter()
            .map(|object| to.by_key.get(&key(object)).copied())
            .collect();
        Self {
            from,
            to,
            scope,
            heir,
            fate: Fate {
                origin,
                goes_first: vec![false; from.objects.len()],
                goes_last: vec![false; from.objects.len()],
                renamed: BTreeMap::new(),
                retyped: BTreeSet::new(),
                added_anew: BTreeSet::new(),
            },
        }
    }

    fn removed_and_replaced(&mut self) {
        for (at, object) in self.from.objects.iter().enumerate() {
            if !self.scope.has(self.from, object) {
                continue;
            }
            match self.heir[at] {
                None if self.is_part(object) => self.goes_first(at),
                None => self.fate.goes_last[at] = !self.fate.goes_first[at],
                Some(heir) if alter::must_be_replaced(self.from, at, self.to, heir) => {
                    self.goes_first(at);
                }
                Some(_) => {}
            }
        }
    }

    /// Whether an object stands in the way of changes. What goes with its table does not, but tables
    /// that refer to each other go only without their foreign keys.
    fn is_part(&self, object: &Object) -> bool {
        let goes_with_table = object
            .relation
            .is_some_and(|table| self.heir[table].is_none());
        PARTS.contains(&object.kind) && (object.kind == "foreign key" || !goes_with_table)
    }

    /// Marks an object and all that depends on it.
    fn goes_first(&mut self, start: usize) {
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            if std::mem::replace(&mut self.fate.goes_first[at], true) {
                continue;
            }
            self.fate.goes_last[at] = false;
            let kind = self.from.objects[at].kind;
            let is_type = TYPES.contains(&kind);
            if is_type {
                waiting.extend(self.retype_columns(at));
            }
            for &user in &self.from.users[at] {
                let object = &self.from.objects[user];
                if object.kind != "table" {
                    waiting.push(user);
                } else if kind == "table" && self.is_child(user, at) {
                    waiting.push(user);
                }
            }
        }
    }

    fn is_child(&self, child: usize, parent: usize) -> bool {
        let parent = self.from.objects[parent].qualified();
        let child = self.from.tables.get(&child);
        child.is_some_and(|child| child.parents.contains(&parent))
    }

    /// The columns of a type that is made anew, and what depends on them.
    fn retype_columns(&mut self, at: usize) -> Vec<usize> {
        let mut users = Vec::new();
        for key in self.from.columns_of_type.get(&at).into_iter().flatten() {
            if self.heir[key.0].is_none() {
                continue;
            }
            let temporary = format!("plinth_replaced_{at}");
            self.fate.renamed.entry(at).or_insert(temporary);
            self.fate.retyped.insert(key.clone());
            users.extend(self.users_of(key, Loss::Type));
        }
        users
    }

    /// What cannot stay while a column is changed.
    fn users_of(&self, key: &ColumnKey, loss: Loss) -> Vec<usize> {
        // PostgreSQL rebuilds these with the column.
        const REBUILT: &[&str] = &[
            "constraint",
            "index",
            "check of the table",
            "statistics",
            "sequence",
            "owner of the sequence",
            "index of a partition",
            "settings of the index",
        ];
        let users = self.from.users_of_column.get(key).into_iter().flatten();
        let stays = |user: &&usize| {
            let kind = self.from.objects[**user].kind;
            kind != "table" && !(loss == Loss::Type && REBUILT.contains(&kind))
        };
        let mut users: Vec<usize> = users.filter(stays).copied().collect();
        if loss == Loss::Column {
            users.extend(self.comment_on(key));
        }
        users
    }

    fn comment_on(&self, (table, column): &ColumnKey) -> Option<usize> {
        let table = self.from.tables.get(table)?;
        let column = table.column(column)?;
        let name = format!("table column {}.{}", table.name, column.quoted);
        self.from.find("comment on", &name)
    }

    fn columns(&mut self) {
        let tables: Vec<usize> = self.from.tables.keys().copied().collect();
        let mut seen = HashSet::new();
        let mut waiting: Vec<(ColumnKey, Loss)> = Vec::new();
        for at in tables {
            let Some(heir) = self.heir[at] else { continue };
            let (Some(old), Some(new)) = (self.from.tables.get(&at), self.to.tables.get(&heir))
            else {
                continue;
            };
            if !self.scope.has(self.from, &self.from.objects[at]) {
                continue;
            }
            for column in &old.columns {
                let key = (at, column.name.clone());
                match new.column(&column.name) {
                    None => waiting.push((key, Loss::Column)),
                    Some(new) if columns::must_be_added_anew(column, new, self.from.version) => {
                        waiting.push((key, Loss::Column));
                    }
                    Some(new) if !column.has_type_of(new) => waiting.push((key, Loss::Type)),
                    Some(_) => {}
                }
            }
        }
        while let Some((key, loss)) = waiting.pop() {
            if !seen.insert((key.clone(), loss)) {
                continue;
            }
            let is_kept = self.heir[key.0]
                .and_then(|heir| self.to.tables.get(&heir)?.column(&key.1))
                .is_some();
            if loss == Loss::Column && is_kept {
                self.fate.added_anew.insert(key.clone());
            }
            for column in self.from.generated_from.get(&key).into_iter().flatten() {
                waiting.push(((key.0, column.clone()), Loss::Column));
            }
            for user in self.users_of(&key, loss) {
                self.goes_first(user);
            }
        }
        // Types that are made anew may have columns that others are computed of.
        let retyped: Vec<ColumnKey> = self.fate.retyped.iter().cloned().collect();
        for key in retyped {
            for column in self.from.generated_from.get(&key).into_iter().flatten() {
                let generated = (key.0, column.clone());
                for user in self.users_of(&generated, Loss::Column) {
                    self.goes_first(user);
                }
                self.fate.added_anew.insert(generated);
            }
        }
    }

    /// What goes last must go first if something else takes its name.
    fn name_clashes(&mut self) {
        let made: HashSet<&str> = self
            .to
            .objects
            .iter()
            .enumerate()
            .filter(|(at, object)| {
                self.fate.origin[*at].is_none()
                    && !object.completes
                    && self.scope.has(self.to, object)
            })
            .map(|(_, object)| object.name.as_str())
            .collect();
        for at in 0..self.from.objects.len() {
            let object = &self.from.objects[at];
            if self.fate.goes_last[at] && made.contains(object.name.as_str()) {
                self.goes_first(at);
            }
        }
    }
}

/// What happens to a column that others depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Loss {
    /// It gets another type.
    Type,
    /// It goes.
    Column,
}
