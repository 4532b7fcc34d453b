//! Splitting messages that are larger than the broker's maximum payload.

use std::collections::HashMap;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::topics::NodeId;

/// Before each fragment: the sending node, the number of its message, the fragment's index and
/// how many there are.
const HEADER_BYTES: usize = 8 + 8 + 4 + 4;

/// The largest message that is put together; a larger one is dropped.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Splits a message into fragments of at most `size` bytes.
pub(super) fn split(node: NodeId, number: u64, message: &Bytes, size: usize) -> Vec<Bytes> {
    let body = size.saturating_sub(HEADER_BYTES).max(1);
    let count = message.len().div_ceil(body).max(1);
    let fragment = |index: usize| {
        let bytes = message.slice(index * body..message.len().min((index + 1) * body));
        let mut fragment = BytesMut::with_capacity(HEADER_BYTES + bytes.len());
        fragment.put_u64(node.0);
        fragment.put_u64(number);
        fragment.put_u32(u32::try_from(index).unwrap_or(u32::MAX));
        fragment.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
        fragment.put_slice(&bytes);
        fragment.freeze()
    };
    (0..count).map(fragment).collect()
}

/// Puts messages together. The broker keeps the order of one sender, so a fragment out of order
/// means that one was lost, and the message with it.
#[derive(Debug, Default)]
pub(super) struct Reassembler {
    incomplete: HashMap<NodeId, Incomplete>,
}

#[derive(Debug)]
struct Incomplete {
    number: u64,
    next: u32,
    bytes: BytesMut,
}

impl Reassembler {
    /// Adds a fragment; returns the message that it completes.
    pub(super) fn add(&mut self, mut fragment: Bytes) -> Option<Bytes> {
        let node = NodeId(fragment.try_get_u64().ok()?);
        let number = fragment.try_get_u64().ok()?;
        let index = fragment.try_get_u32().ok()?;
        let count = fragment.try_get_u32().ok()?;
        if count <= 1 {
            return Some(fragment);
        }
        let incomplete = match self.incomplete.get_mut(&node) {
            Some(message) if message.number == number && message.next == index => message,
            _ if index == 0 => {
                let fresh = Incomplete {
                    number,
                    next: 0,
                    bytes: BytesMut::new(),
                };
                self.incomplete.insert(node, fresh);
                self.incomplete.get_mut(&node)?
            }
            _ => {
                self.incomplete.remove(&node);
                return None;
            }
        };
        incomplete.bytes.extend_from_slice(&fragment);
        incomplete.next += 1;
        let is_whole = incomplete.next == count;
        let is_too_large = incomplete.bytes.len() > MAX_MESSAGE_BYTES;
        if is_whole || is_too_large {
            let message = self.incomplete.remove(&node)?;
            return is_whole.then(|| message.bytes.freeze());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId(1);

    #[test]
    fn a_split_message_is_put_together() {
        for length in [0, 1, 99, 100, 101, 1000] {
            let message = Bytes::from(vec![7; length]);
            let mut reassembler = Reassembler::default();
            let fragments = split(NODE, 5, &message, 100 + HEADER_BYTES);
            let (last, first) = fragments.split_last().expect("a fragment");
            for fragment in first {
                assert_eq!(reassembler.add(fragment.clone()), None);
            }
            assert_eq!(reassembler.add(last.clone()), Some(message), "{length}");
        }
    }

    #[test]
    fn a_lost_fragment_loses_its_message_and_not_the_next() {
        let message = Bytes::from(vec![7; 30]);
        let mut reassembler = Reassembler::default();
        let fragments = split(NODE, 1, &message, 10 + HEADER_BYTES);
        reassembler.add(fragments[0].clone());
        assert_eq!(reassembler.add(fragments[2].clone()), None);

        let again = split(NODE, 2, &message, 10 + HEADER_BYTES);
        let taken: Vec<_> = again
            .into_iter()
            .map(|fragment| reassembler.add(fragment))
            .collect();
        assert_eq!(taken, [None, None, Some(message)]);
    }

    #[test]
    fn senders_do_not_disturb_each_other() {
        let message = Bytes::from(vec![7; 15]);
        let mut reassembler = Reassembler::default();
        let one = split(NODE, 1, &message, 10 + HEADER_BYTES);
        let other = split(NodeId(2), 1, &message, 10 + HEADER_BYTES);
        reassembler.add(one[0].clone());
        reassembler.add(other[0].clone());
        assert_eq!(reassembler.add(one[1].clone()), Some(message.clone()));
        assert_eq!(reassembler.add(other[1].clone()), Some(message));
    }
}
