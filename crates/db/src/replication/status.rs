//! How far the reader has come, as the server wants to hear it.

use bytes::{BufMut as _, BytesMut};

use crate::replication::{Lsn, lsn::microseconds_now};

/// Positions of one stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// What has been given to the reader.
    handed_out: Lsn,
    /// What the reader is done with: the server may forget it.
    confirmed: Lsn,
    /// What has arrived in any form.
    received: Lsn,
}

impl Progress {
    pub(super) fn hand_out(&mut self, position: Lsn) {
        self.handed_out = self.handed_out.max(position);
        self.received = self.received.max(position);
    }

    /// Whether that was new.
    pub(super) fn confirm(&mut self, position: Lsn) -> bool {
        let is_new = position > self.confirmed;
        self.confirmed = self.confirmed.max(position);
        is_new
    }

    /// The server has read so far and had no more to send. Where the reader is done with all that
    /// it got, this is as good as confirmed: else a slot whose tables rest would hold back the log
    /// of all others.
    pub(super) fn hear(&mut self, end: Lsn) {
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

    fn told(progress: &Progress) -> (u64, u64, u64) {
        use bytes::Buf as _;
        let mut update = progress.status_update();
        assert_eq!((update.len(), update.get_u8()), (34, b'r'));
        (update.get_u64(), update.get_u64(), update.get_u64())
    }

    #[test]
    fn what_is_handed_out_is_not_yet_confirmed() {
        let mut progress = Progress::default();
        progress.hand_out(Lsn(5));
        progress.hear(Lsn(9));
        assert_eq!(told(&progress), (9, 0, 0));

        assert!(progress.confirm(Lsn(5)));
        assert_eq!(told(&progress), (9, 5, 5));
        assert!(!progress.confirm(Lsn(4)), "never back");
        assert_eq!(told(&progress), (9, 5, 5));
    }

    #[test]
    fn a_reader_that_is_done_follows_the_server() {
        let mut progress = Progress::default();
        progress.hear(Lsn(7));
        assert_eq!(told(&progress), (7, 7, 7));
        progress.hand_out(Lsn(8));
        progress.confirm(Lsn(8));
        progress.hear(Lsn(12));
        assert_eq!(told(&progress), (12, 12, 12));
    }
}
