//! The service: one value for all projects, and what the server asks of it beside requests.

use std::{io, sync::Arc};

use plinth_project::{BoxFuture, FileCheck, Project, ProjectFiles, ProjectRef};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::{
    blobs::{BlobStore, Blobs, collect_garbage},
    branch,
    check::{self, CheckError},
    config::StorageConfig,
    images::{ImageRenderer, ImageRendererConfig},
    owner::{ClaimError, Installation, OwnedStore},
    request::{ProjectContext, RequestContext},
    seed::{self, SeedBucket, SeedError},
    tus,
};

/// The storage service. Cheap to clone.
#[derive(Clone)]
pub struct StorageService(Arc<Inner>);

struct Inner {
    store: OwnedStore,
    renderer: ImageRenderer,
    tasks: TaskTracker,
}

impl StorageService {
    /// A service over a store that no other installation can reach. To be called within a runtime.
    pub fn new(store: BlobStore, renderer: &ImageRendererConfig) -> Self {
        Self::with_owner(store, renderer, None)
    }

    /// As [`Self::new`], over a store that others may try to use as well: it must be claimed.
    pub fn for_installation(
        store: BlobStore,
        renderer: &ImageRendererConfig,
        installation: Installation,
    ) -> Self {
        Self::with_owner(store, renderer, Some(installation))
    }

    fn with_owner(
        store: BlobStore,
        renderer: &ImageRendererConfig,
        owner: Option<Installation>,
    ) -> Self {
        Self(Arc::new(Inner {
            store: OwnedStore::new(store, owner),
            renderer: ImageRenderer::open(renderer),
            tasks: TaskTracker::new(),
        }))
    }

    /// Waits for work that outlives its request. To be called when no more requests arrive.
    pub async fn drain(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Marks the store as ours, unless another installation has; with `adopts` also then.
    pub async fn claim(&self, adopts: bool) -> Result<(), ClaimError> {
        self.0.store.claim(adopts).await
    }

    /// Removes the blobs of a project that nothing references any more; gives how many.
    pub async fn collect_garbage(&self, project: &Project) -> Result<u64, CheckError> {
        self.0.store.ensure_owned().await?;
        tus::expire_uploads(&project.db).await?;
        let timing = project.config::<StorageConfig>().gc;
        Ok(collect_garbage(&project.db, &self.blobs(project), &timing).await?)
    }

    /// Scans the store for blobs of a project that nothing references, and hands them to the
    /// garbage collection; gives how many. A crash of PostgreSQL can leave such blobs.
    pub async fn collect_orphans(&self, project: &Project) -> Result<u64, CheckError> {
        self.0.store.ensure_owned().await?;
        let timing = project.config::<StorageConfig>().gc;
        check::collect_orphans(&project.db, &self.blobs(project), &timing).await
    }

    /// Compares rows and blobs of a project and reports what it finds, line by line; the last line
    /// is a summary, or says why there is none. Garbage is collected first, lest blobs that are
    /// about to be removed anyway are reported.
    pub fn check(&self, project: &Project, options: FileCheck) -> mpsc::Receiver<Value> {
        let (lines, receiver) = mpsc::channel(check::CHANNEL_CAPACITY);
        let (service, project) = (self.clone(), project.clone());
        self.0.tasks.spawn(async move {
            let collected = service.collect_garbage(&project).await;
            let blobs = service.blobs(&project);
            check::run(&project, blobs, options, collected, &lines).await;
        });
        receiver
    }

    /// Creates the bucket as described, and uploads the files into it that are new or changed;
    /// gives how many.
    pub async fn seed(&self, project: &Project, bucket: &SeedBucket) -> Result<usize, SeedError> {
        let context = RequestContext::internal(self.project_context(project));
        seed::seed_bucket(&context, bucket).await
    }

    pub(crate) fn renderer(&self) -> &ImageRenderer {
        &self.0.renderer
    }

    /// What all requests to a project share.
    pub(crate) fn project_context(&self, project: &Project) -> ProjectContext {
        ProjectContext {
            project: project.clone(),
            config: project.config::<StorageConfig>(),
            blobs: self.blobs(project),
            tasks: self.0.tasks.clone(),
        }
    }

    fn blobs(&self, project: &Project) -> Blobs {
        let open = || self.blobs_of(project.reference());
        (*project.service_state(open)).clone()
    }

    /// As [`Self::blobs`], of a project that need not be open.
    fn blobs_of(&self, project: &ProjectRef) -> Blobs {
        self.0.store.store().blobs(project, self.0.tasks.clone())
    }
}

impl ProjectFiles for StorageService {
    fn check(&self, project: &Project, how: FileCheck) -> mpsc::Receiver<Value> {
        self.check(project, how)
    }

    fn copy<'a>(&'a self, from: &'a ProjectRef, to: &'a Project) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let context = RequestContext::internal(self.project_context(to));
            branch::copy_files(&context, &self.blobs_of(from)).await
        })
    }

    fn remove_project<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let store = &self.0.store;
            store.ensure_owned().await.map_err(io::Error::other)?;
            let tasks = self.0.tasks.clone();
            store.store().remove_project(project, tasks).await
        })
    }
}
