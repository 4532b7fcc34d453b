//! Known positions in the list of users, so that a page far down costs as little as the first.
//!
//! `offset` reads the rows that it skips. The first request for a page far down a large list reads
//! them once; every 250th row is cached as a milestone, with the number of rows from each to the
//! next, and later pages are read from the milestone before them. Rows before the first milestone
//! are counted each time: in the list with the newest first, that is where new users appear. In the
//! other one they appear at the end, behind the last milestone.
//!
//! Rows that are deleted or inserted in between make milestones wrong until they expire. Then a page
//! may be shifted by a few rows, but never shows wrong ones. A client that reads page after page does
//! not even see the shift: a page that reaches the next milestone too early or too late shows where
//! it really is, and the milestone is corrected before the next page is read.

mod cache;

pub(crate) use cache::MilestoneCache;

use crate::model::user_list::{Order, Position, Segment};

/// How many rows there are from one milestone to the next, and at least before the first.
pub(super) const INTERVAL: u64 = 250;

/// At least one position in a list. A milestone stays valid when its row is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Milestones {
    order: Order,
    /// In the order of the list.
    rows: Vec<Position>,
    /// How many rows there are from each to the next.
    lengths: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Milestone {
    index: usize,
    pub(super) row: Position,
    /// How many rows there are from the first milestone to this one.
    pub(super) offset: u64,
}

/// The rows between two neighbouring milestones, whose cached number is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrongLength {
    index: usize,
    pub(super) segment: Segment,
    /// The right number, if the page shows it.
    pub(super) length: Option<u64>,
}

impl Milestones {
    /// From rows that are an interval apart.
    pub(super) fn new(order: Order, rows: Vec<Position>) -> Option<Self> {
        let segments = rows.len().checked_sub(1)?;
        Some(Self {
            order,
            rows,
            lengths: vec![INTERVAL; segments],
        })
    }

    /// Appends rows that are an interval apart, and from the last milestone.
    pub(super) fn extend(&mut self, rows: Vec<Position>) {
        let lengths = rows.iter().map(|_| INTERVAL);
        self.lengths.extend(lengths);
        self.rows.extend(rows);
    }

    pub(super) fn first(&self) -> Milestone {
        Milestone {
            index: 0,
            row: self.rows[0],
            offset: 0,
        }
    }

    pub(super) fn last(&self) -> Milestone {
        let index = self.lengths.len();
        Milestone {
            index,
            row: self.rows[index],
            offset: self.lengths.iter().sum(),
        }
    }

    /// Everything from the first to the last milestone.
    pub(super) fn span(&self) -> (Order, Segment) {
        let segment = Segment {
            start: self.first().row,
            end: self.last().row,
        };
        (self.order, segment)
    }

    /// Whether there is a milestone close before an offset.
    pub(super) fn cover(&self, offset: u64) -> bool {
        offset < self.last().offset + 2 * INTERVAL
    }

    /// The last milestone before an offset.
    pub(super) fn nearest(&self, offset: u64) -> Milestone {
        let mut nearest = self.first();
        while let Some(next) = self.after(nearest)
            && next.offset <= offset
        {
            nearest = next;
        }
        nearest
    }

    /// The first length that the rows of a page show to be wrong. `start` is the offset of the first
    /// row, `from` the milestone that it was counted from.
    pub(super) fn find_wrong_length(
        &self,
        from: Milestone,
        start: u64,
        rows: &[Position],
    ) -> Option<WrongLength> {
        let end = rows.len() as u64;
        let mut milestone = from;
        while let Some(next) = self.after(milestone) {
            let before = rows.partition_point(|row| self.order.is_before(*row, next.row)) as u64;
            if before != next.offset.saturating_sub(start).min(end) {
                // Without rows of the page on both sides, the milestone may be anywhere there.
                let is_in_sight = before < end && (before > 0 || start <= milestone.offset);
                let length = (start + before).saturating_sub(milestone.offset);
                return Some(WrongLength {
                    index: milestone.index,
                    segment: Segment {
                        start: milestone.row,
                        end: next.row,
                    },
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

    /// Sets the right length.
    pub(super) fn correct(&mut self, wrong: WrongLength, length: u64) {
        if let Some(cached) = self.lengths.get_mut(wrong.index) {
            *cached = length;
        }
    }

    fn after(&self, milestone: Milestone) -> Option<Milestone> {
        let index = milestone.index + 1;
        Some(Milestone {
            index,
            row: *self.rows.get(index)?,
            offset: milestone.offset + self.lengths.get(milestone.index)?,
        })
    }
}

#[cfg(test)]
mod tests;
