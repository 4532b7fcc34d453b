//! Work on a body's bytes beside whoever reads them.

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

/// Bytes that are worked on together. Their room in memory is free once nobody has them any more.
pub(super) struct Block {
    pub(super) frames: Vec<Bytes>,
    pub(super) _room: OwnedSemaphorePermit,
}

/// What a worker does with bytes.
pub(super) trait Work: Send + 'static {
    fn take(&mut self, frames: &[Bytes]) -> io::Result<()>;
}

/// Takes one block after the other on a blocking thread. It has that thread only while there are
/// blocks, so that a client that sends slowly holds none; and as long as blocks come in time, no
/// thread is ever waited for.
pub(super) struct Worker<T: Work> {
    desk: Arc<Mutex<Desk<T>>>,
    thread: Option<JoinHandle<()>>,
}

struct Desk<T> {
    /// Here while no thread has it, unless it has failed.
    work: Option<T>,
    waiting: VecDeque<Arc<Block>>,
    failure: Option<(ErrorKind, String)>,
}

impl<T: Work> Worker<T> {
    pub(super) fn new(work: T) -> Self {
        let desk = Desk {
            work: Some(work),
            waiting: VecDeque::new(),
            failure: None,
        };
        Self {
            desk: Arc::new(Mutex::new(desk)),
            thread: None,
        }
    }

    /// One more block; or how an earlier one failed.
    pub(super) fn give(&mut self, block: Arc<Block>) -> io::Result<()> {
        let mut desk = lock(&self.desk);
        desk.check()?;
        desk.waiting.push_back(block);
        if let Some(work) = desk.work.take() {
            let shared = self.desk.clone();
            self.thread = Some(spawn_blocking(move || go_on(&shared, work)));
        }
        Ok(())
    }

    /// It, once it has taken everything that it was given.
    pub(super) async fn rest(mut self) -> io::Result<T> {
        if let Some(thread) = self.thread.take() {
            thread.await.map_err(io::Error::other)?;
        }
        let mut desk = lock(&self.desk);
        desk.check()?;
        let work = desk.work.take();
        work.ok_or_else(|| io::Error::other("a thread has stopped"))
    }
}

impl<T: Work> Drop for Worker<T> {
    /// What nobody will ask about need not be done.
    fn drop(&mut self) {
        lock(&self.desk).waiting.clear();
    }
}

impl<T> Desk<T> {
    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

fn go_on<T: Work>(shared: &Mutex<Desk<T>>, mut work: T) {
    loop {
        let block = {
            let mut desk = lock(shared);
            match desk.waiting.pop_front() {
                Some(block) => block,
                None => {
                    desk.work = Some(work);
                    return;
                }
            }
        };
        if let Err(error) = work.take(&block.frames) {
            let mut desk = lock(shared);
            desk.failure = Some((error.kind(), error.to_string()));
            desk.waiting.clear();
            return;
        }
    }
}

fn lock<T>(desk: &Mutex<Desk<T>>) -> MutexGuard<'_, Desk<T>> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// Notes what it is given, and fails at the word "stop".
    #[derive(Debug, Default)]
    struct Notes(Vec<Bytes>);

    impl Work for Notes {
        fn take(&mut self, frames: &[Bytes]) -> io::Result<()> {
            self.0.extend_from_slice(frames);
            match frames.iter().any(|frame| frame == "stop") {
                true => Err(ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        }
    }

    async fn block(room: &Arc<Semaphore>, text: &'static str) -> Arc<Block> {
        let room = room.clone().acquire_owned().await.expect("room");
        Arc::new(Block {
            frames: vec![Bytes::from_static(text.as_bytes())],
            _room: room,
        })
    }

    #[tokio::test]
    async fn blocks_are_taken_in_their_order_and_make_room() {
        let room = Arc::new(Semaphore::new(2));
        let mut worker = Worker::new(Notes::default());
        let texts = ["a", "b", "c", "d", "e", "f"];
        for text in texts {
            worker.give(block(&room, text).await).expect("taken");
        }
        let Notes(taken) = worker.rest().await.expect("no failure");

        assert_eq!(taken, texts);
        assert_eq!(room.available_permits(), 2);
    }

    #[tokio::test]
    async fn a_failure_is_told_whenever_somebody_asks_and_blocks_nobody() {
        let room = Arc::new(Semaphore::new(1));
        let mut worker = Worker::new(Notes::default());
        worker.give(block(&room, "stop").await).expect("taken");

        let full = |given: io::Result<()>| given.expect_err("full").kind();
        for text in ["a", "b"] {
            let next = block(&room, text).await;
            assert_eq!(full(worker.give(next)), ErrorKind::StorageFull);
        }
        assert_eq!(full(worker.rest().await.map(drop)), ErrorKind::StorageFull);
    }
}
