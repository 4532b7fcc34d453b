//! How far the stream has been read, to recognise what arrives twice.

use plinth_db::replication::Lsn;

/// Rows of the two kinds are counted apart: a node that follows another one receives no rows of
/// `realtime.messages`, and must still find its position when it takes over in the middle of a
/// transaction that has both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Messages,
    Users,
}

/// What has been read. After a reconnect, or when this node takes over from another, the stream
/// starts again at the last confirmed position, and rows that were already handled are skipped.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The commit position of the last transaction that was read to its end.
    completed: Lsn,
    /// The transaction that was read in part, and how many of its rows were.
    partial: (Lsn, RowCounts),
    /// The transaction that is being read.
    current: Lsn,
    rows: RowCounts,
}

#[derive(Debug, Default)]
struct RowCounts {
    messages: u64,
    users: u64,
}

impl RowCounts {
    fn get_mut(&mut self, kind: RowKind) -> &mut u64 {
        match kind {
            RowKind::Messages => &mut self.messages,
            RowKind::Users => &mut self.users,
        }
    }
}

impl Progress {
    /// What was committed up to the end of that transaction is not expected any more.
    pub(super) fn begin_after(&mut self, end: Lsn) {
        // Its commit record begins before that, and the next one there or later.
        self.completed = self.completed.max(Lsn(end.0.saturating_sub(1)));
    }

    pub(super) fn begin(&mut self, commit_position: Lsn) {
        self.current = commit_position;
        self.rows = RowCounts::default();
    }

    /// Counts the next row of the transaction; returns whether it was read before.
    pub(super) fn is_next_row_duplicate(&mut self, kind: RowKind) -> bool {
        let number = self.rows.get_mut(kind);
        *number += 1;
        if self.current <= self.completed {
            return true;
        }
        if self.partial.0 != self.current {
            self.partial = (self.current, RowCounts::default());
        }
        let read = self.partial.1.get_mut(kind);
        if *number <= *read {
            return true;
        }
        *read = *number;
        false
    }

    pub(super) fn commit(&mut self) {
        self.completed = self.completed.max(self.current);
    }
}

#[cfg(test)]
mod tests {
    use super::{RowKind::*, *};

    /// Which rows of a transaction are duplicates.
    fn read(progress: &mut Progress, position: u64, rows: &[RowKind]) -> Vec<bool> {
        progress.begin(Lsn(position));
        rows.iter()
            .map(|kind| progress.is_next_row_duplicate(*kind))
            .collect()
    }

    fn read_whole(progress: &mut Progress, position: u64, rows: &[RowKind]) -> Vec<bool> {
        let seen = read(progress, position, rows);
        progress.commit();
        seen
    }

    #[test]
    fn rows_that_were_read_before_are_duplicates() {
        let mut progress = Progress::default();
        assert_eq!(read_whole(&mut progress, 10, &[Users; 2]), [false, false]);
        assert_eq!(read(&mut progress, 20, &[Users; 2]), [false, false]);
        // The stream is lost, and starts again with the first transaction.
        assert_eq!(read_whole(&mut progress, 10, &[Users; 2]), [true, true]);
        assert_eq!(read(&mut progress, 20, &[Users]), [true]);
        // Lost once more, before it came as far as before.
        assert_eq!(
            read_whole(&mut progress, 20, &[Users; 4]),
            [true, true, false, false]
        );
        assert_eq!(read_whole(&mut progress, 30, &[Users]), [false]);
    }

    #[test]
    fn what_a_node_begins_after_is_not_delivered_there() {
        let mut progress = Progress::default();
        progress.begin_after(Lsn(20));
        assert_eq!(read_whole(&mut progress, 10, &[Users]), [true]);
        assert_eq!(read_whole(&mut progress, 19, &[Users]), [true]);
        assert_eq!(read_whole(&mut progress, 20, &[Users]), [false]);
    }

    #[test]
    fn taking_over_amid_a_transaction_of_both_kinds_skips_no_row() {
        let mut progress = Progress::default();
        // It received two user rows from the node that read the slot, and none of the messages.
        assert_eq!(read(&mut progress, 10, &[Users; 2]), [false, false]);

        let rows = [Messages, Users, Messages, Messages, Users, Users];
        let seen = read_whole(&mut progress, 10, &rows);

        assert_eq!(seen, [false, true, false, false, true, false]);
    }

    #[test]
    fn rows_of_both_kinds_that_were_read_are_duplicates() {
        let mut progress = Progress::default();
        let rows = [Messages, Users, Users, Messages];
        read(&mut progress, 10, &rows[..3]);

        assert_eq!(
            read_whole(&mut progress, 10, &rows),
            [true, true, true, false]
        );
    }
}
