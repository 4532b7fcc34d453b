//! Processes a body's bytes on a blocking thread, beside the task that reads them.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
};

/// Bytes that are processed together. The permit counts them towards the memory of the transfer.
pub(super) struct Block {
    pub(super) frames: Vec<Bytes>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What a worker does with blocks.
pub(super) trait Work: Send + 'static {
    fn process(&mut self, frames: &[Bytes]) -> io::Result<()>;
}

/// Processes one block after the other on a blocking thread. It occupies that thread only while
/// blocks are queued, so a client that sends slowly holds none; and while blocks come in time, it
/// keeps the thread and never waits for a new one.
pub(super) struct Worker<T: Work> {
    shared: Arc<Mutex<Shared<T>>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<T> {
    /// Here while no thread has it, unless it has failed.
    work: Option<T>,
    queue: VecDeque<Arc<Block>>,
    failure: Option<(ErrorKind, String)>,
}

impl<T: Work> Worker<T> {
    pub(super) fn new(work: T) -> Self {
        let shared = Shared {
            work: Some(work),
            queue: VecDeque::new(),
            failure: None,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            thread: None,
        }
    }

    /// Queues a block; fails if an earlier one has failed.
    pub(super) fn submit(&mut self, block: Arc<Block>) -> io::Result<()> {
        let mut state = lock(&self.shared);
        state.check()?;
        state.queue.push_back(block);
        if let Some(work) = state.work.take() {
            let shared = self.shared.clone();
            self.thread = Some(spawn_blocking(move || process_queue(&shared, work)));
        }
        Ok(())
    }

    /// Waits until the queue is empty, and gives the work back.
    pub(super) async fn finish(mut self) -> io::Result<T> {
        if let Some(thread) = self.thread.take() {
            thread.await.map_err(io::Error::other)?;
        }
        let mut state = lock(&self.shared);
        state.check()?;
        let work = state.work.take();
        work.ok_or_else(|| io::Error::other("the worker thread has panicked"))
    }
}

impl<T: Work> Drop for Worker<T> {
    /// No caller will ask for the result of queued blocks.
    fn drop(&mut self) {
        lock(&self.shared).queue.clear();
    }
}

impl<T> Shared<T> {
    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

fn process_queue<T: Work>(shared: &Mutex<Shared<T>>, mut work: T) {
    loop {
        let block = {
            let mut state = lock(shared);
            match state.queue.pop_front() {
                Some(block) => block,
                None => {
                    state.work = Some(work);
                    return;
                }
            }
        };
        if let Err(error) = work.process(&block.frames) {
            let mut state = lock(shared);
            state.failure = Some((error.kind(), error.to_string()));
            state.queue.clear();
            return;
        }
    }
}

fn lock<T>(shared: &Mutex<Shared<T>>) -> MutexGuard<'_, Shared<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// Records its frames, and fails at the word "stop".
    #[derive(Debug, Default)]
    struct Recorder(Vec<Bytes>);

    impl Work for Recorder {
        fn process(&mut self, frames: &[Bytes]) -> io::Result<()> {
            self.0.extend_from_slice(frames);
            if frames.iter().any(|frame| frame == "stop") {
                Err(ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }
    }

    async fn block(capacity: &Arc<Semaphore>, text: &'static str) -> Arc<Block> {
        let permit = capacity.clone().acquire_owned().await.expect("a permit");
        Arc::new(Block {
            frames: vec![Bytes::from_static(text.as_bytes())],
            _permit: permit,
        })
    }

    #[tokio::test]
    async fn blocks_are_processed_in_order_and_release_their_permits() {
        let capacity = Arc::new(Semaphore::new(2));
        let mut worker = Worker::new(Recorder::default());
        let texts = ["a", "b", "c", "d", "e", "f"];
        for text in texts {
            worker.submit(block(&capacity, text).await).expect("taken");
        }
        let Recorder(taken) = worker.finish().await.expect("no failure");

        assert_eq!(taken, texts);
        assert_eq!(capacity.available_permits(), 2);
    }

    #[tokio::test]
    async fn a_failure_is_reported_by_every_later_call_and_blocks_no_caller() {
        let capacity = Arc::new(Semaphore::new(1));
        let mut worker = Worker::new(Recorder::default());
        worker
            .submit(block(&capacity, "stop").await)
            .expect("taken");

        let full = |given: io::Result<()>| given.expect_err("full").kind();
        for text in ["a", "b"] {
            let next = block(&capacity, text).await;
            assert_eq!(full(worker.submit(next)), ErrorKind::StorageFull);
        }
        assert_eq!(
            full(worker.finish().await.map(drop)),
            ErrorKind::StorageFull
        );
    }
}
