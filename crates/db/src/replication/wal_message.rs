//! Messages of a walsender inside CopyData.

use bytes::{Buf as _, Bytes, TryGetError};
use time::OffsetDateTime;

use crate::replication::{Lsn, lsn::time_at};

/// XLogData: output of the slot's plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalData {
    /// Its WAL position. For a commit this is the position to confirm.
    pub position: Lsn,
    /// When the server sent it.
    pub sent_at: OffsetDateTime,
    /// Output of the plugin; see [`pgoutput`](super::pgoutput).
    pub data: Bytes,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum WalMessage {
    Data(WalData),
    /// Primary keepalive message.
    Keepalive {
        /// The current end of WAL on the server.
        end: Lsn,
        wants_reply: bool,
    },
    /// From a later protocol version; ignored.
    Unknown,
}

impl WalMessage {
    pub(super) fn decode(mut bytes: Bytes) -> Result<Self, TryGetError> {
        match bytes.try_get_u8()? {
            b'w' => {
                let (start, end) = (bytes.try_get_u64()?, bytes.try_get_u64()?);
                let sent_at = time_at(bytes.try_get_i64()?);
                Ok(Self::Data(WalData {
                    position: Lsn(start.max(end)),
                    sent_at,
                    data: bytes,
                }))
            }
            b'k' => {
                let (end, _clock) = (bytes.try_get_u64()?, bytes.try_get_i64()?);
                Ok(Self::Keepalive {
                    end: Lsn(end),
                    wants_reply: bytes.try_get_u8()? != 0,
                })
            }
            _ => Ok(Self::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_keepalives_are_distinguished() {
        let mut data = vec![b'w'];
        data.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        data.extend([0; 8]);
        data.extend(b"payload");
        let decoded = WalMessage::decode(Bytes::from(data.clone())).expect("whole");
        let WalMessage::Data(decoded) = decoded else {
            panic!("{decoded:?}");
        };
        assert_eq!(decoded.position, Lsn(2));
        assert_eq!(decoded.data, &b"payload"[..]);

        let mut keepalive = vec![b'k', 0, 0, 0, 0, 0, 0, 0, 9];
        keepalive.extend([0; 8]);
        keepalive.push(1);
        let expected = WalMessage::Keepalive {
            end: Lsn(9),
            wants_reply: true,
        };
        assert_eq!(WalMessage::decode(keepalive.into()), Ok(expected));
        assert_eq!(
            WalMessage::decode(Bytes::from_static(b"?")),
            Ok(WalMessage::Unknown)
        );

        for length in 0..25 {
            assert!(WalMessage::decode(Bytes::from(data[..length].to_vec())).is_err());
        }
    }
}
