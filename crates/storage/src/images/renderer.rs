//! Renders images: a limited number at a time and in limited memory, with a short queue and a
//! timeout.

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
    cache::{RenditionCache, RenditionName},
    encode::{Format, Rendered},
    error::{overloaded, timed_out},
    header::source_bytes,
    memory::MemoryBudget,
    render::RenderRequest,
};
use crate::error::StorageError;

/// Requests that may wait for a worker.
const QUEUE_CAPACITY: usize = 64;
const RENDER_TIMEOUT: Duration = Duration::from_secs(15);

/// Workers and cache, for all projects.
#[derive(Debug, Clone)]
pub struct ImageRendererConfig {
    /// The folder of the cache.
    pub folder: PathBuf,
    /// The size of the cache in bytes.
    pub cache_bytes: u64,
    /// Images rendered at the same time; by default one per core.
    pub workers: Option<NonZeroUsize>,
    /// Memory in bytes for all images that are being rendered; one that needs more is rejected.
    pub max_memory: u64,
}

/// Renders images for all projects.
pub(crate) struct ImageRenderer {
    workers: Arc<Semaphore>,
    memory: MemoryBudget,
    queued: AtomicUsize,
    cache: RenditionCache,
}

impl ImageRenderer {
    pub(crate) fn open(config: &ImageRendererConfig) -> Self {
        let cores = || available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = config.workers.map_or_else(cores, NonZeroUsize::get);
        Self {
            workers: Arc::new(Semaphore::new(workers)),
            memory: MemoryBudget::new(config.max_memory),
            queued: AtomicUsize::new(0),
            cache: RenditionCache::open(config.folder.clone(), config.cache_bytes),
        }
    }

    /// The image of that name; if it is not cached, as requested from a source of `size` bytes.
    pub(crate) async fn get_or_render<F>(
        &self,
        name: &RenditionName,
        request: RenderRequest,
        size: u64,
        read: impl Fn() -> F,
    ) -> Result<(Bytes, Format), Arc<StorageError>>
    where
        F: Future<Output = Result<Vec<u8>, StorageError>>,
    {
        let rendered = self.render(Arc::new(request), size, read);
        let rendered = self.cache.get_or_render(name, rendered);
        match timeout(RENDER_TIMEOUT, rendered).await {
            Ok(rendered) => rendered,
            Err(_) => Err(Arc::new(timed_out())),
        }
    }

    async fn render<F>(
        &self,
        request: Arc<RenderRequest>,
        size: u64,
        read: impl Fn() -> F,
    ) -> Result<Rendered, StorageError>
    where
        F: Future<Output = Result<Vec<u8>, StorageError>>,
    {
        let permit = {
            let _slot = self.enqueue()?;
            let permit = self.workers.clone().acquire_owned().await;
            permit.map_err(StorageError::internal)?
        };
        let mut memory = self.memory.reserve(source_bytes(size)).await?;
        let (needed, mut source) = measure(&request, read().await?).await?;
        if !self.memory.try_grow(&mut memory, needed)? {
            // Others may wait for what is reserved here: it is given back before waiting.
            drop(source);
            drop(memory);
            memory = self.memory.reserve(needed).await?;
            source = read().await?;
        }
        let rendering = spawn_blocking(move || {
            let rendered = request.render(source);
            // Held to the end, even if the request has timed out meanwhile.
            drop((memory, permit));
            rendered
        });
        rendering.await.map_err(StorageError::internal)?
    }

    fn enqueue(&self) -> Result<QueueSlot<'_>, StorageError> {
        let slot = QueueSlot(&self.queued);
        if self.queued.fetch_add(1, Relaxed) < QUEUE_CAPACITY {
            Ok(slot)
        } else {
            Err(overloaded())
        }
    }
}

/// The memory that rendering takes, and the source, repaired where that was possible.
async fn measure(
    request: &Arc<RenderRequest>,
    mut source: Vec<u8>,
) -> Result<(u64, Vec<u8>), StorageError> {
    let request = request.clone();
    let measured = spawn_blocking(move || {
        let needed = request.peak_bytes(&mut source)?;
        Ok((needed, source))
    });
    measured.await.map_err(StorageError::internal)?
}

/// One slot of the queue, until it is dropped.
struct QueueSlot<'a>(&'a AtomicUsize);

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
