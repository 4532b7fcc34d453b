//! Known places in the list of users, so that a page far down costs as little as the first.
//!
//! To skip rows is to read them. Whoever goes far down a large list reads them once; every 250th is
//! remembered as a milestone, with how many rows there are between each and the next, and the pages
//! after that are read from the milestone above them. Rows before the first milestone are counted
//! each time: that is where accounts come in the list that has the newest first. In the other one
//! they come at its end, where there are no milestones yet.
//!
//! Rows that vanish (or appear) in between make milestones wrong until they are made anew. No page
//! shows wrong rows for that, only some that should be a little further up or down. Whoever reads
//! one page after the other does not even see that: a page that reaches the next milestone sooner
//! or later than it should tells where that really is, before the page after it is read.

mod kept;
pub(super) mod store;

pub(crate) use kept::KeptMilestones;
pub(super) use kept::List;

use super::{cursor::Position, order::Order};

/// How many rows there are from one to the next, and at least before the first.
const INTERVAL: u64 = 250;

/// At least one place in a list. Each is before its row, which may vanish without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Milestones {
    order: Order,
    /// As the list has them.
    rows: Vec<Position>,
    /// How many rows there are from each to the next.
    lengths: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Milestone {
    /// How many milestones are before it.
    index: usize,
    pub(super) row: Position,
    /// How many rows there are between the first and this one.
    pub(super) place: u64,
}

/// What is between two milestones and has not the length that was remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    index: usize,
    pub(super) start: Position,
    pub(super) end: Position,
    /// If it is known by now.
    pub(super) length: Option<u64>,
}

impl Milestones {
    /// Rows that are an interval apart.
    pub(super) fn new(order: Order, rows: Vec<Position>) -> Option<Self> {
        let stretches = rows.len().checked_sub(1)?;
        Some(Self {
            order,
            rows,
            lengths: vec![INTERVAL; stretches],
        })
    }

    /// Goes on with rows that are an interval apart, and from the last.
    pub(super) fn extend(&mut self, rows: Vec<Position>) {
        let lengths = rows.iter().map(|_| INTERVAL);
        self.lengths.extend(lengths);
        self.rows.extend(rows);
    }

    pub(super) fn first(&self) -> Milestone {
        Milestone {
            index: 0,
            row: self.rows[0],
            place: 0,
        }
    }

    pub(super) fn last(&self) -> Milestone {
        let index = self.lengths.len();
        Milestone {
            index,
            row: self.rows[index],
            place: self.lengths.iter().sum(),
        }
    }

    /// Whether there is one close before a place.
    pub(super) fn reach(&self, place: u64) -> bool {
        place < self.last().place + 2 * INTERVAL
    }

    /// The last one before a place.
    pub(super) fn nearest(&self, place: u64) -> Milestone {
        let mut nearest = self.first();
        while let Some(next) = self.after(nearest)
            && next.place <= place
        {
            nearest = next;
        }
        nearest
    }

    /// The first stretch that the rows of a page show to be of another length. `start` is the
    /// place of the first row, `from` the milestone that it was counted from.
    pub(super) fn astray(&self, from: Milestone, start: u64, rows: &[Position]) -> Option<Stretch> {
        let end = rows.len() as u64;
        let mut milestone = from;
        while let Some(next) = self.after(milestone) {
            let before = rows.partition_point(|row| self.order.is_before(*row, next.row)) as u64;
            if before != next.place.saturating_sub(start).min(end) {
                // Where no row is on the one side, the milestone may be anywhere there.
                let is_in_sight = before < end && (before > 0 || start <= milestone.place);
                let length = (start + before).saturating_sub(milestone.place);
                return Some(Stretch {
                    index: milestone.index,
                    start: milestone.row,
                    end: next.row,
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
    pub(super) fn correct(&mut self, stretch: Stretch, length: u64) {
        if let Some(known) = self.lengths.get_mut(stretch.index) {
            *known = length;
        }
    }

    fn after(&self, milestone: Milestone) -> Option<Milestone> {
        let index = milestone.index + 1;
        Some(Milestone {
            index,
            row: *self.rows.get(index)?,
            place: milestone.place + self.lengths.get(milestone.index)?,
        })
    }
}

#[cfg(test)]
mod tests;
