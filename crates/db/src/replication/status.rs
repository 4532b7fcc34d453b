//! The reader's position, as reported to the server.

use bytes::{BufMut as _, BytesMut};

use crate::replication::{Lsn, lsn::microseconds_now};

/// Positions of one stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Delivered to the reader.
    handed_out: Lsn,
    /// Confirmed by the reader: the server may discard the WAL before it.
    confirmed: Lsn,
    /// Received in any form.
    received: Lsn,
}

impl Progress {
    pub(super) fn mark_delivered(&mut self, position: Lsn) {
        self.handed_out = self.handed_out.max(position);
        self.received = self.received.max(position);
    }

    /// Returns whether the position advanced.
    pub(super) fn confirm(&mut self, position: Lsn) -> bool {
        let is_new = position > self.confirmed;
        self.confirmed = self.confirmed.max(position);
        is_new
    }

    /// The server has sent everything up to `end`. If the reader has confirmed all that it received,
    /// this counts as confirmed: otherwise a slot whose tables do not change would retain the WAL of
    /// all others.
    pub(super) fn advance_to_server_end(&mut self, end: Lsn) {
        self.received = self.received.max(end);
        if self.confirmed >= self.handed_out {
            self.confirmed = self.confirmed.max(end);
        }
    }

    /// A standby status update.
    pub(super) fn status_update(&self) -> BytesMut {
        let mut update = BytesMut::with_capacity(34);
        update.put_u8(b'r');
        update.put_u64(self.received.max(self.confirmed).0);
        update.put_u64(self.confirmed.0);
        update.put_u64(self.confirmed.0);
        update.put_i64(microseconds_now());
        update.put_u8(0);
        update
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(progress: &Progress) -> (u64, u64, u64) {
        use bytes::Buf as _;
        let mut update = progress.status_update();
        assert_eq!((update.len(), update.get_u8()), (34, b'r'));
        (update.get_u64(), update.get_u64(), update.get_u64())
    }

    #[test]
    fn what_is_handed_out_is_not_yet_confirmed() {
        let mut progress = Progress::default();
        progress.mark_delivered(Lsn(5));
        progress.advance_to_server_end(Lsn(9));
        assert_eq!(reported(&progress), (9, 0, 0));

        assert!(progress.confirm(Lsn(5)));
        assert_eq!(reported(&progress), (9, 5, 5));
        assert!(!progress.confirm(Lsn(4)), "never back");
        assert_eq!(reported(&progress), (9, 5, 5));
    }

    #[test]
    fn a_reader_that_is_done_follows_the_server() {
        let mut progress = Progress::default();
        progress.advance_to_server_end(Lsn(7));
        assert_eq!(reported(&progress), (7, 7, 7));
        progress.mark_delivered(Lsn(8));
        progress.confirm(Lsn(8));
        progress.advance_to_server_end(Lsn(12));
        assert_eq!(reported(&progress), (12, 12, 12));
    }
}
