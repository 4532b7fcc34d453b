//! Bounded queue between the connection and a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::RealtimeError;

/// Limits of a queue. Beyond them the oldest items are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueLimits {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            events: super::MAX_QUEUED_EVENTS,
            bytes: super::MAX_QUEUED_BYTES,
        }
    }
}

/// The writing side.
pub(super) struct Queue<T>(Arc<Mutex<State<T>>>);

/// The reading side.
pub(super) struct Reader<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    limits: QueueLimits,
    waiting: VecDeque<(T, usize)>,
    bytes: usize,
    missed: u64,
    is_ended: bool,
    is_abandoned: bool,
    waker: Option<Waker>,
}

pub(super) fn queue<T>(limits: QueueLimits) -> (Queue<T>, Reader<T>) {
    let state = Arc::new(Mutex::new(State {
        limits,
        waiting: VecDeque::new(),
        bytes: 0,
        missed: 0,
        is_ended: false,
        is_abandoned: false,
        waker: None,
    }));
    (Queue(state.clone()), Reader(state))
}

impl<T> Queue<T> {
    /// Adds an item that took this many bytes on the wire.
    pub(super) fn push(&self, item: T, bytes: usize) {
        let mut state = locked(&self.0);
        if state.is_abandoned || state.is_ended {
            return;
        }
        state.waiting.push_back((item, bytes));
        state.bytes += bytes;
        // A single item is kept whatever its size.
        while state.waiting.len() > 1
            && (state.waiting.len() > state.limits.events || state.bytes > state.limits.bytes)
        {
            if let Some((_, bytes)) = state.waiting.pop_front() {
                state.bytes -= bytes;
                state.missed += 1;
            }
        }
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        let waker = {
            let mut state = locked(&self.0);
            state.is_ended = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether the reader is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        locked(&self.0).is_abandoned
    }
}

impl<T> Reader<T> {
    /// The next item, or how many were dropped before it.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<T, RealtimeError>>> {
        let mut state = locked(&self.0);
        if state.missed > 0 {
            let missed = std::mem::take(&mut state.missed);
            return Poll::Ready(Some(Err(RealtimeError::Lagged { missed })));
        }
        if let Some((item, bytes)) = state.waiting.pop_front() {
            state.bytes -= bytes;
            return Poll::Ready(Some(Ok(item)));
        }
        if state.is_ended {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        let waiting = {
            let mut state = locked(&self.0);
            state.is_abandoned = true;
            state.bytes = 0;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
    }
}

fn locked<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker;

    use super::*;

    fn next<T>(reader: &Reader<T>) -> Poll<Option<Result<T, RealtimeError>>> {
        reader.poll(&mut Context::from_waker(&noop_waker()))
    }

    fn read(reader: &Reader<u32>) -> Vec<Result<u32, u64>> {
        let mut all = Vec::new();
        while let Poll::Ready(Some(item)) = next(reader) {
            all.push(item.map_err(|error| match error {
                RealtimeError::Lagged { missed } => missed,
                other => panic!("{other:?}"),
            }));
        }
        all
    }

    #[test]
    fn the_oldest_are_dropped_and_the_reader_is_notified() {
        let (queue, reader) = queue(QueueLimits {
            events: 2,
            bytes: 100,
        });
        for item in 1..=5 {
            queue.push(item, 1);
        }

        assert_eq!(read(&reader), [Err(3), Ok(4), Ok(5)]);
        queue.push(6, 1);
        assert_eq!(read(&reader), [Ok(6)]);
    }

    #[test]
    fn bytes_count_too_and_one_is_kept_however_large() {
        let (queue, reader) = queue(QueueLimits {
            events: 10,
            bytes: 10,
        });
        queue.push(1, 6);
        queue.push(2, 4);
        queue.push(3, 1);
        assert_eq!(read(&reader), [Err(1), Ok(2), Ok(3)]);

        queue.push(4, 1);
        queue.push(5, 1000);
        assert_eq!(read(&reader), [Err(1), Ok(5)]);
    }

    #[test]
    fn what_was_there_before_the_end_is_still_read() {
        let (queue, reader) = queue(QueueLimits::default());
        queue.push(1, 1);
        queue.end();
        queue.push(2, 1);

        assert!(matches!(next(&reader), Poll::Ready(Some(Ok(1)))));
        assert!(matches!(next(&reader), Poll::Ready(None)));
    }

    #[test]
    fn nothing_is_kept_for_a_reader_who_has_left() {
        let (queue, reader) = queue(QueueLimits::default());
        let item = Arc::new(());
        queue.push(item.clone(), 1);
        drop(reader);
        queue.push(item.clone(), 1);

        assert!(queue.is_abandoned());
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
