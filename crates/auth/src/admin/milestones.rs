//! Known places in the list of users, so that a page far down costs as little as the first.
//!
//! To skip rows is to read them. Of a large list every 250th row is remembered as a milestone, and
//! how many rows there are between each and the next; a page is read from the milestone above it.
//! Accounts come at the newer end, outside of all milestones, where they are counted each time.
//!
//! Rows that vanish (or appear) further down make milestones wrong until they are made anew. No
//! page shows wrong rows for that, only some that should be a little further up or down. Whoever
//! reads one page after the other does not even see that: a page that reaches the next milestone
//! sooner or later than it should tells where that really is, before the page after it is read.

mod kept;
pub(super) mod store;

pub(crate) use kept::KeptMilestones;

use super::{cursor::Position, order::Order};

/// How many rows there are from one to the next, and at least above the first.
const INTERVAL: u64 = 250;

/// At least one place in the list of an audience. Each is on the newer side of its row, which may
/// vanish without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Milestones {
    /// The newest first.
    rows: Vec<Position>,
    /// How many rows there are from each to the next.
    lengths: Vec<u64>,
}

/// One of them, seen from an end of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Milestone {
    /// How many are before it.
    ordinal: usize,
    pub(super) row: Position,
    /// How many rows there are between the first and this one.
    pub(super) place: u64,
}

/// A stretch that has not the length that was remembered, seen from an end of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// How many milestones are before it.
    ordinal: usize,
    pub(super) newer: Position,
    pub(super) older: Position,
    /// What is known of it by now.
    pub(super) length: Option<u64>,
}

impl Milestones {
    /// Rows that are that far apart, the newest first.
    fn new(rows: Vec<Position>, interval: u64) -> Option<Self> {
        let stretches = rows.len().checked_sub(1)?;
        Some(Self {
            rows,
            lengths: vec![interval; stretches],
        })
    }

    /// The newest and the oldest.
    pub(super) fn ends(&self) -> (Position, Position) {
        (
            self.row(Order::NewestFirst, 0),
            self.row(Order::OldestFirst, 0),
        )
    }

    /// How many rows there are between the ends.
    pub(super) fn span(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// The one that all others come after.
    pub(super) fn first(&self, order: Order) -> Milestone {
        Milestone {
            ordinal: 0,
            row: self.row(order, 0),
            place: 0,
        }
    }

    /// The last one before a place.
    pub(super) fn nearest(&self, order: Order, place: u64) -> Milestone {
        let mut nearest = self.first(order);
        while let Some(next) = self.after(order, nearest)
            && next.place <= place
        {
            nearest = next;
        }
        nearest
    }

    /// The first stretch that the rows of a page show to be of another length. `start` is the
    /// place of the first row, `from` the milestone that it was counted from.
    pub(super) fn astray(
        &self,
        order: Order,
        from: Milestone,
        start: u64,
        rows: &[Position],
    ) -> Option<Stretch> {
        let end = rows.len() as u64;
        let mut milestone = from;
        while let Some(next) = self.after(order, milestone) {
            let before = rows.partition_point(|row| order.is_before_milestone(*row, next.row));
            let before = before as u64;
            if before != next.place.saturating_sub(start).min(end) {
                // Where no row is on the one side, the milestone may be anywhere there.
                let is_in_sight = before < end && (before > 0 || start <= milestone.place);
                let length = (start + before).saturating_sub(milestone.place);
                return Some(Stretch {
                    ordinal: milestone.ordinal,
                    newer: milestone.row.max(next.row),
                    older: milestone.row.min(next.row),
                    length: is_in_sight.then_some(length),
                });
            }
            if before == end {
                break;
            }
            milestone = next;
        }
        None
    }

    /// Remembers how long a stretch really is.
    pub(super) fn correct(&mut self, order: Order, stretch: Stretch, length: u64) {
        let index = self.index(order, stretch.ordinal);
        if let Some(known) = self.lengths.get_mut(index) {
            *known = length;
        }
    }

    fn after(&self, order: Order, milestone: Milestone) -> Option<Milestone> {
        let is_last = milestone.ordinal == self.lengths.len();
        (!is_last).then(|| Milestone {
            ordinal: milestone.ordinal + 1,
            row: self.row(order, milestone.ordinal + 1),
            place: milestone.place + self.lengths[self.index(order, milestone.ordinal)],
        })
    }

    fn row(&self, order: Order, ordinal: usize) -> Position {
        match order {
            Order::NewestFirst => self.rows[ordinal],
            Order::OldestFirst => self.rows[self.rows.len() - 1 - ordinal],
        }
    }

    fn index(&self, order: Order, ordinal: usize) -> usize {
        match order {
            Order::NewestFirst => ordinal,
            Order::OldestFirst => self.lengths.len() - 1 - ordinal,
        }
    }
}

#[cfg(test)]
mod tests;
