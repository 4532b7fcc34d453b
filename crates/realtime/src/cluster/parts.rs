//! Messages that are larger than the broker takes travel in parts.

use std::collections::HashMap;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::NodeId;

/// What stands before a part: who sends it, which message it is of, its number, and how many
/// there are.
const HEAD: usize = 8 + 8 + 4 + 4;

/// What may lie here of messages that are not complete.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Cuts a message into parts of at most `size` bytes.
pub(super) fn cut(node: NodeId, number: u64, message: &Bytes, size: usize) -> Vec<Bytes> {
    let room = size.saturating_sub(HEAD).max(1);
    let count = message.len().div_ceil(room).max(1);
    let part = |place: usize| {
        let piece = message.slice(place * room..message.len().min((place + 1) * room));
        let mut part = BytesMut::with_capacity(HEAD + piece.len());
        part.put_u64(node.0);
        part.put_u64(number);
        part.put_u32(u32::try_from(place).unwrap_or(u32::MAX));
        part.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
        part.put_slice(&piece);
        part.freeze()
    };
    (0..count).map(part).collect()
}

/// Puts messages together. Parts of one sender arrive in order, or the message is lost.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    begun: HashMap<NodeId, Begun>,
}

#[derive(Debug)]
struct Begun {
    number: u64,
    next: u32,
    bytes: BytesMut,
}

impl Joiner {
    /// Takes a part; gives the message that it completes.
    pub(super) fn take(&mut self, mut part: Bytes) -> Option<Bytes> {
        let node = NodeId(part.try_get_u64().ok()?);
        let number = part.try_get_u64().ok()?;
        let place = part.try_get_u32().ok()?;
        let count = part.try_get_u32().ok()?;
        if count <= 1 {
            return Some(part);
        }
        let begun = match self.begun.get_mut(&node) {
            Some(begun) if begun.number == number && begun.next == place => begun,
            _ if place == 0 => {
                let fresh = Begun {
                    number,
                    next: 0,
                    bytes: BytesMut::new(),
                };
                self.begun.insert(node, fresh);
                self.begun.get_mut(&node)?
            }
            _ => {
                self.begun.remove(&node);
                return None;
            }
        };
        begun.bytes.extend_from_slice(&part);
        begun.next += 1;
        let is_whole = begun.next == count;
        let is_too_large = begun.bytes.len() > MOST_BYTES;
        if is_whole || is_too_large {
            let begun = self.begun.remove(&node)?;
            return is_whole.then(|| begun.bytes.freeze());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId(1);

    #[test]
    fn what_was_cut_is_put_together() {
        for length in [0, 1, 99, 100, 101, 1000] {
            let message = Bytes::from(vec![7; length]);
            let mut joiner = Joiner::default();
            let parts = cut(NODE, 5, &message, 100 + HEAD);
            let (last, first) = parts.split_last().expect("a part");
            for part in first {
                assert_eq!(joiner.take(part.clone()), None);
            }
            assert_eq!(joiner.take(last.clone()), Some(message), "{length}");
        }
    }

    #[test]
    fn a_message_that_lost_a_part_is_lost_and_the_next_is_not() {
        let message = Bytes::from(vec![7; 30]);
        let mut joiner = Joiner::default();
        let parts = cut(NODE, 1, &message, 10 + HEAD);
        joiner.take(parts[0].clone());
        assert_eq!(joiner.take(parts[2].clone()), None);

        let again = cut(NODE, 2, &message, 10 + HEAD);
        let taken: Vec<_> = again.into_iter().map(|part| joiner.take(part)).collect();
        assert_eq!(taken, [None, None, Some(message)]);
    }

    #[test]
    fn senders_do_not_disturb_each_other() {
        let message = Bytes::from(vec![7; 15]);
        let mut joiner = Joiner::default();
        let one = cut(NODE, 1, &message, 10 + HEAD);
        let other = cut(NodeId(2), 1, &message, 10 + HEAD);
        joiner.take(one[0].clone());
        joiner.take(other[0].clone());
        assert_eq!(joiner.take(one[1].clone()), Some(message.clone()));
        assert_eq!(joiner.take(other[1].clone()), Some(message));
    }
}
