//! Where images are made: a few at a time, a short queue, a deadline.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::available_parallelism,
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use super::{
    cache::{Name, Renditions},
    render::{Format, Rendered},
};
use crate::error::{Code, StorageError};

/// Those who wait, beyond those who are served.
const LONGEST_QUEUE: usize = 64;
const DEADLINE: Duration = Duration::from_secs(15);

/// What the program decides about images.
#[derive(Debug, Clone)]
pub struct StudioConfig {
    /// Where finished images are kept.
    pub folder: PathBuf,
    /// How many bytes of them.
    pub cache_bytes: u64,
    /// Images worked on at once; by default one per core.
    pub workers: Option<NonZeroUsize>,
}

/// Makes images for all projects.
pub(crate) struct Studio {
    workers: Arc<Semaphore>,
    waiting: AtomicUsize,
    renditions: Renditions,
}

impl Studio {
    pub(crate) fn open(config: &StudioConfig) -> Self {
        let cores = || available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = config.workers.map_or_else(cores, NonZeroUsize::get);
        Self {
            workers: Arc::new(Semaphore::new(workers)),
            waiting: AtomicUsize::new(0),
            renditions: Renditions::open(config.folder.clone(), config.cache_bytes),
        }
    }

    /// The image of that name, made from `source` by `work` if nobody has it yet.
    pub(crate) async fn image(
        &self,
        name: &Name,
        source: impl Future<Output = Result<Vec<u8>, StorageError>>,
        work: impl FnOnce(Vec<u8>) -> Result<Rendered, StorageError> + Send + 'static,
    ) -> Result<(Bytes, Format), Arc<StorageError>> {
        let made = self.renditions.get_or_make(name, self.make(source, work));
        match timeout(DEADLINE, made).await {
            Ok(made) => made,
            Err(_) => {
                let message = "Image request timed out";
                Err(Arc::new(StorageError::new(
                    Code::InvalidRequest,
                    408,
                    message,
                )))
            }
        }
    }

    async fn make(
        &self,
        source: impl Future<Output = Result<Vec<u8>, StorageError>>,
        work: impl FnOnce(Vec<u8>) -> Result<Rendered, StorageError> + Send + 'static,
    ) -> Result<Rendered, StorageError> {
        let permit = {
            let _place = self.queue()?;
            let permit = self.workers.clone().acquire_owned().await;
            permit.map_err(StorageError::internal)?
        };
        let source = source.await?;
        let working = spawn_blocking(move || {
            let made = work(source);
            // Held to the end, even if nobody waits for it any more.
            drop(permit);
            made
        });
        working.await.map_err(StorageError::internal)?
    }

    fn queue(&self) -> Result<Place<'_>, StorageError> {
        let place = Place(&self.waiting);
        match self.waiting.fetch_add(1, Relaxed) < LONGEST_QUEUE {
            true => Ok(place),
            false => Err(StorageError::new(Code::SlowDown, 429, "Too many requests")),
        }
    }
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
