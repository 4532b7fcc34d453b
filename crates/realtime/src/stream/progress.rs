//! How far the log has been read.

use plinth_db::replication::Lsn;

/// Whose a row is. A node that hears of the log from another one gets users' rows and no messages,
/// so each kind is counted by itself: counted together, a transaction of both would stand elsewhere
/// for whoever takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOf {
    Messages,
    Users,
}

/// What has been read, so that nothing is told twice: a server that was lost begins again with
/// everything that was not confirmed, and so does a node that takes over from another.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The last transaction that was read to its end, by where its commit stands.
    whole: Lsn,
    /// The one that was read in part, and how many of its rows were.
    part: (Lsn, Rows),
    /// The one that is being read.
    current: Lsn,
    rows: Rows,
}

#[derive(Debug, Default)]
struct Rows {
    messages: u64,
    users: u64,
}

impl Rows {
    fn of(&mut self, kind: RowOf) -> &mut u64 {
        match kind {
            RowOf::Messages => &mut self.messages,
            RowOf::Users => &mut self.users,
        }
    }
}

impl Progress {
    pub(super) fn begin(&mut self, commit_position: Lsn) {
        self.current = commit_position;
        self.rows = Rows::default();
    }

    /// Counts a row; whether it was read before.
    pub(super) fn has_seen_next(&mut self, kind: RowOf) -> bool {
        let number = self.rows.of(kind);
        *number += 1;
        if self.current <= self.whole {
            return true;
        }
        if self.part.0 != self.current {
            self.part = (self.current, Rows::default());
        }
        let read = self.part.1.of(kind);
        if *number <= *read {
            return true;
        }
        *read = *number;
        false
    }

    pub(super) fn commit(&mut self) {
        self.whole = self.whole.max(self.current);
    }
}

#[cfg(test)]
mod tests {
    use super::{RowOf::*, *};

    /// Which of the rows of a transaction were read before.
    fn read(progress: &mut Progress, position: u64, rows: &[RowOf]) -> Vec<bool> {
        progress.begin(Lsn(position));
        rows.iter()
            .map(|kind| progress.has_seen_next(*kind))
            .collect()
    }

    fn read_whole(progress: &mut Progress, position: u64, rows: &[RowOf]) -> Vec<bool> {
        let seen = read(progress, position, rows);
        progress.commit();
        seen
    }

    #[test]
    fn rows_that_were_read_before_are_not_told_again() {
        let mut progress = Progress::default();
        assert_eq!(read_whole(&mut progress, 10, &[Users; 2]), [false, false]);
        assert_eq!(read(&mut progress, 20, &[Users; 2]), [false, false]);
        // The stream broke off, and begins again with the first transaction.
        assert_eq!(read_whole(&mut progress, 10, &[Users; 2]), [true, true]);
        assert_eq!(read(&mut progress, 20, &[Users]), [true]);
        // Once more, before it came as far as before.
        assert_eq!(
            read_whole(&mut progress, 20, &[Users; 4]),
            [true, true, false, false]
        );
        assert_eq!(read_whole(&mut progress, 30, &[Users]), [false]);
    }

    #[test]
    fn a_node_that_takes_over_amid_a_transaction_of_both_kinds_skips_no_row() {
        let mut progress = Progress::default();
        // It heard two rows of users from the node that read the log, and none of the messages.
        assert_eq!(read(&mut progress, 10, &[Users; 2]), [false, false]);

        let rows = [Messages, Users, Messages, Messages, Users, Users];
        let seen = read_whole(&mut progress, 10, &rows);

        assert_eq!(seen, [false, true, false, false, true, false]);
    }

    #[test]
    fn messages_and_rows_of_users_that_were_read_are_both_known() {
        let mut progress = Progress::default();
        let rows = [Messages, Users, Users, Messages];
        read(&mut progress, 10, &rows[..3]);

        assert_eq!(
            read_whole(&mut progress, 10, &rows),
            [true, true, true, false]
        );
    }
}
