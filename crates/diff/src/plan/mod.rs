//! From two schemas to changes.
//!
//! Three stages: first goes what stands in the way of changes (`fate.rs`), then objects are made
//! and altered in the order of the new schema (`build.rs`), last goes what is no longer needed. An
//! object that cannot be altered goes first with all that depends on it, and is made anew.

mod alter;
mod build;
mod columns;
mod drops;
mod fate;
mod output;
mod privileges;
mod settings;
mod tables;
mod types;

use crate::{Changes, Schema, Scope};
use output::Output;

/// What makes `from` like `to`, as far as `scope` reaches. The changes are for the role that read
/// `from`: its default privileges decide what new objects start with.
pub fn compare(from: &Schema, to: &Schema, scope: &Scope) -> Changes {
    let fate = fate::Fate::decide(from, to, scope);
    let plan = Plan {
        from,
        to,
        scope,
        fate,
    };
    let mut output = Output::default();
    drops::first(&plan, &mut output);
    build::all(&plan, &mut output);
    privileges::all(&plan, &mut output);
    build::refresh(&plan, &mut output);
    drops::last(&plan, &mut output);
    privileges::starting(&plan, &mut output);
    let mut changes = output.finish();
    if scope.has_global() {
        changes.notes = to.notes.iter().chain(&from.notes).cloned().collect();
        changes.notes.sort();
        changes.notes.dedup();
    }
    changes
}

/// Both sides and what happens to each object.
struct Plan<'a> {
    from: &'a Schema,
    to: &'a Schema,
    scope: &'a Scope,
    fate: fate::Fate,
}

impl Plan<'_> {
    /// Whether an object of `to` is made, and not there already.
    fn is_made(&self, at: usize) -> bool {
        match self.fate.origin[at] {
            Some(origin) => self.fate.goes_first[origin],
            None => self.scope.has(self.to, &self.to.objects[at]),
        }
    }

    /// The object of `from` that stays and becomes the one of `to`.
    fn kept(&self, at: usize) -> Option<usize> {
        let origin = self.fate.origin[at]?;
        let stays = !self.fate.goes_first[origin];
        (stays && self.scope.has(self.to, &self.to.objects[at])).then_some(origin)
    }
}
