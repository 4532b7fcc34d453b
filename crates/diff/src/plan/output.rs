//! Collects changes.

use crate::{Change, Changes, ObjectName, Schema};

#[derive(Default)]
pub(super) struct Output {
    changes: Vec<Change>,
    created: Vec<ObjectName>,
    dropped: Vec<ObjectName>,
}

impl Output {
    /// A change of an object, shown under its table if it has one.
    pub(super) fn push(&mut self, schema: &Schema, at: usize, sql: impl Into<String>) {
        self.add(schema, at, sql.into(), false);
    }

    pub(super) fn add(&mut self, schema: &Schema, at: usize, sql: String, is_destructive: bool) {
        self.changes.push(Change {
            object: schema.name_of(schema.group_of(at)),
            sql,
            is_destructive,
        });
    }

    /// A change of something that is no object.
    pub(super) fn push_named(&mut self, object: ObjectName, sql: String) {
        self.changes.push(Change {
            object,
            sql,
            is_destructive: false,
        });
    }

    pub(super) fn created(&mut self, schema: &Schema, at: usize) {
        if schema.group_of(at) == at {
            self.created.push(schema.name_of(at));
        }
    }

    pub(super) fn dropped(&mut self, schema: &Schema, at: usize) {
        if schema.group_of(at) == at {
            self.dropped.push(schema.name_of(at));
        }
    }

    pub(super) fn finish(self) -> Changes {
        Changes {
            changes: self.changes,
            notes: Vec::new(),
            created: self.created,
            dropped: self.dropped,
        }
    }
}
