//! The service: one value for all projects, and the way of every request through it.

use std::{io, path::PathBuf, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{Request, StatusCode};
use plinth_project::{BodyLimit, BoxFuture, Cors, FileCheck, FileKeeper, Project, ProjectRef};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::{
    blobs::{Blobs, LocalBlobs, S3Blobs, S3Store, sweep},
    buckets,
    check::{CheckError, collect_orphans},
    config::StorageConfig,
    error::StorageError,
    images::{self, Studio, StudioConfig},
    objects,
    owner::Installation,
    request::{Access, BucketAction, Context, ObjectAction, Pace, Route, closing},
    s3, tus,
};

/// The storage service. Cheap to clone.
#[derive(Clone)]
pub struct StorageService(Arc<Inner>);

struct Inner {
    store: BlobStore,
    /// Who must have the store to itself.
    owner: Option<Installation>,
    studio: Studio,
    tasks: TaskTracker,
}

/// Where the bytes of all projects are.
#[derive(Debug, Clone)]
pub enum BlobStore {
    /// In a folder of this machine, a subfolder for each project.
    Local {
        /// The folder.
        folder: PathBuf,
        /// Whether a file counts as stored only once the disk has it.
        syncs: bool,
    },
    /// In a bucket of an S3 store, below a prefix for each project.
    S3(S3Store),
}

impl StorageService {
    /// A service whose bytes are there, where nobody else can be. To be called within a runtime.
    pub fn new(store: BlobStore, studio: &StudioConfig) -> Self {
        Self::owned(store, studio, None)
    }

    /// As [`Self::new`], in a place that others may try to use as well: it must be claimed.
    pub fn for_installation(
        store: BlobStore,
        studio: &StudioConfig,
        installation: Installation,
    ) -> Self {
        Self::owned(store, studio, Some(installation))
    }

    fn owned(store: BlobStore, studio: &StudioConfig, owner: Option<Installation>) -> Self {
        Self(Arc::new(Inner {
            store,
            owner,
            studio: Studio::open(studio),
            tasks: TaskTracker::new(),
        }))
    }

    /// Waits for what must not stop half-way. To be called when no more requests come.
    pub async fn finish(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Removes the bytes of a project that no object needs any more.
    pub async fn sweep(&self, project: &Project) -> Result<u64, CheckError> {
        self.ensure_owned().await?;
        tus::give_up_expired(&project.db).await?;
        let patience = project.config::<StorageConfig>().patience;
        Ok(sweep(&project.db, &self.blobs(project), &patience).await?)
    }

    /// Searches the store for bytes of a project that nothing names, and puts them on the
    /// collector's list; gives how many there were. A crash of PostgreSQL can leave such bytes.
    pub async fn collect_orphans(&self, project: &Project) -> Result<u64, CheckError> {
        self.ensure_owned().await?;
        let patience = project.config::<StorageConfig>().patience;
        collect_orphans(&project.db, &self.blobs(project), &patience).await
    }

    pub(crate) fn store(&self) -> &BlobStore {
        &self.0.store
    }

    pub(crate) fn owner(&self) -> Option<&Installation> {
        self.0.owner.as_ref()
    }

    /// Work that must not stop half-way.
    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// A project's blobs.
    pub(crate) fn blobs(&self, project: &Project) -> Blobs {
        let make = || self.blobs_of(project.reference());
        (*project.attached(make)).clone()
    }

    /// As [`Self::blobs`], of a project that need not be open.
    pub(crate) fn blobs_of(&self, project: &ProjectRef) -> Blobs {
        let project = project.as_str();
        match &self.0.store {
            BlobStore::Local { folder, syncs } => {
                Blobs::Local(LocalBlobs::new(folder.join(project), *syncs))
            }
            BlobStore::S3(store) => Blobs::S3(S3Blobs::new(store.clone(), project, self.tasks())),
        }
    }
}

impl FileKeeper for StorageService {
    fn check(&self, project: &Project, how: FileCheck) -> mpsc::Receiver<Value> {
        self.check(project, how)
    }

    fn copy<'a>(&'a self, from: &'a ProjectRef, to: &'a Project) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.copy_files(from, to))
    }

    fn forget<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            self.ensure_owned().await.map_err(io::Error::other)?;
            match &self.0.store {
                BlobStore::Local { folder, .. } => {
                    let folder = folder.join(project.as_str());
                    match tokio::fs::remove_dir_all(folder).await {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                        _ => Ok(()),
                    }
                }
                BlobStore::S3(store) => {
                    let blobs = S3Blobs::new(store.clone(), project.as_str(), self.tasks());
                    blobs.clear().await
                }
            }
        })
    }
}

/// What scripts of other origins may read.
const EXPOSED: &str = "ETag, Content-Length, Content-Range, Accept-Ranges, Content-Disposition, \
     Last-Modified, X-Transformations, Location, Upload-Offset, Upload-Length, Upload-Metadata, \
     Upload-Expires, Upload-Defer-Length, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, \
     Tus-Complete, Retry-After";

fn cors() -> Cors {
    Cors::any().expose(EXPOSED).max_age(86_400)
}

/// Every request of every project.
pub(crate) async fn serve(
    State(service): State<StorageService>,
    project: Project,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let cors = cors();
    if Cors::is_preflight(&parts.method, &parts.headers) {
        let mut response = cors.preflight(&parts.headers);
        if let Ok(Route::Resumable { .. }) = Route::read(&parts.method, parts.uri.path()) {
            *response.status_mut() = StatusCode::NO_CONTENT;
            tus::offer(&project.config::<StorageConfig>(), response.headers_mut());
        }
        return response;
    }
    // Files are as large as buckets allow; whoever reads a body watches its size.
    if let Some(limit) = parts.extensions.get::<BodyLimit>() {
        limit.lift();
    }
    let headers = parts.headers.clone();
    let mut response = respond(&service, project, parts, body).await;
    cors.decorate(&headers, response.headers_mut());
    response
}

async fn respond(
    service: &StorageService,
    project: Project,
    parts: http::request::Parts,
    body: Body,
) -> Response {
    let config = project.config::<StorageConfig>();
    let route = Route::read(&parts.method, parts.uri.path());
    let route = match route {
        Ok(route) if config.is_enabled => route,
        Ok(_) => {
            return StorageError::no_such_route(&parts.method, parts.uri.path()).into_response();
        }
        Err(error) => return error.into_response(),
    };
    let body = Pace::of(config.patience.longest_upload).keep(body);
    let blobs = service.blobs(&project);
    let tasks = service.tasks();
    if route == Route::S3 {
        let scene = s3::Scene {
            project,
            config,
            blobs,
            tasks,
        };
        return s3::serve(scene, parts, body).await;
    }
    let operation = operation(&route, &parts);
    let context = Context::new(project, config, blobs, parts, operation, tasks);
    let context = Arc::new(context);
    let is_upload = route.takes_file();
    let answer = answer(&context, &service.0.studio, route, body).await;
    let mut response = match answer {
        Ok(response) => response,
        // The rest of a file that was refused is not worth reading.
        Err(error) if is_upload => closing(error.into_response()),
        Err(error) => error.into_response(),
    };
    // For the access log.
    if let Some(caller) = context.maybe_caller() {
        response.extensions_mut().insert(caller.clone());
    }
    response
}

async fn answer(
    context: &Arc<Context>,
    studio: &Studio,
    route: Route,
    body: Body,
) -> Result<Response, StorageError> {
    match route {
        Route::Status => Ok(StatusCode::OK.into_response()),
        Route::Version => Ok(env!("CARGO_PKG_VERSION").into_response()),
        Route::Health => health(context).await,
        Route::ListBuckets => buckets::list(context).await,
        Route::CreateBucket => buckets::create(context, body).await,
        Route::Bucket(BucketAction::Get, id) => buckets::get(context, &id).await,
        Route::Bucket(BucketAction::Update, id) => buckets::update(context, &id, body).await,
        Route::Bucket(BucketAction::Delete, id) => buckets::delete(context, &id).await,
        Route::Bucket(BucketAction::Empty, id) => buckets::empty(context, &id).await,
        Route::List(bucket) => objects::list(context, &bucket, body).await,
        Route::ListV2(bucket) => objects::list_v2(context, &bucket, body).await,
        Route::SignMany(bucket) => objects::sign_many(context, &bucket, body).await,
        Route::DeleteMany(bucket) => objects::delete_many(context, &bucket, body).await,
        Route::Move => objects::move_object(context, body).await,
        Route::Copy => objects::copy(context, body).await,
        Route::Object(action, place) => match action {
            ObjectAction::Create => objects::create(context, place, body).await,
            ObjectAction::Replace => objects::replace(context, place, body).await,
            ObjectAction::UploadSigned => objects::upload_signed(context, place, body).await,
            ObjectAction::SignUpload => objects::sign_upload(context, &place, body).await,
            ObjectAction::Download(access) => objects::download(context, access, &place).await,
            ObjectAction::Head(access) => objects::head(context, access, &place).await,
            ObjectAction::Info(access) => objects::info(context, access, &place).await,
            ObjectAction::Sign => objects::sign(context, &place, body).await,
            ObjectAction::Delete => objects::delete(context, &place).await,
        },
        Route::Render(access, place) => images::show(context, studio, access, &place).await,
        Route::Resumable { is_signed, id } => {
            Ok(tus::respond(context, is_signed, id.as_deref(), body).await)
        }
        Route::S3 | Route::PurgeCache { .. } => {
            let path = context.parts.uri.path();
            Err(StorageError::no_such_route(&context.parts.method, path))
        }
    }
}

/// `GET /health`: whether the database answers.
async fn health(context: &Context) -> Result<Response, StorageError> {
    context.caller_by_token()?;
    let answer = context
        .as_service_role()
        .read_only()
        .query("select 1", &[])
        .await;
    Ok(axum::Json(json!({ "healthy": answer.is_ok() })).into_response())
}

/// What policies are told that a request does (storage contract §10.4).
fn operation(route: &Route, parts: &http::request::Parts) -> &'static str {
    match route {
        Route::Status | Route::Version | Route::Health => "",
        Route::ListBuckets => "storage.bucket.list",
        Route::CreateBucket => "storage.bucket.create",
        Route::Bucket(BucketAction::Get, _) => "storage.bucket.get",
        Route::Bucket(BucketAction::Update, _) => "storage.bucket.update",
        Route::Bucket(BucketAction::Delete, _) => "storage.bucket.delete",
        Route::Bucket(BucketAction::Empty, _) => "storage.bucket.empty",
        Route::List(_) => "storage.object.list",
        Route::ListV2(_) => "storage.object.list_v2",
        Route::SignMany(_) => "storage.object.sign_many",
        Route::DeleteMany(_) => "storage.object.delete_many",
        Route::Move => "storage.object.move",
        Route::Copy => "storage.object.copy",
        Route::Object(action, _) => match action {
            ObjectAction::Create => "storage.object.upload",
            ObjectAction::Replace => "storage.object.upload_update",
            ObjectAction::UploadSigned => "storage.object.upload_signed",
            ObjectAction::SignUpload => "storage.object.sign_upload_url",
            ObjectAction::Download(Access::Public) => "storage.object.get_public",
            ObjectAction::Download(Access::Signed) | ObjectAction::Head(Access::Signed) => {
                "storage.object.get_signed"
            }
            ObjectAction::Download(_) => "storage.object.get_authenticated",
            ObjectAction::Head(Access::Public) | ObjectAction::Info(Access::Public) => {
                "storage.object.info_public"
            }
            ObjectAction::Head(_) => "object.head_authenticated_info",
            ObjectAction::Info(_) => "object.get_authenticated_info",
            ObjectAction::Sign => "storage.object.sign",
            ObjectAction::Delete => "storage.object.delete",
        },
        Route::Render(Access::Public, _) => "storage.render.image_public",
        Route::Render(Access::Signed, _) => "storage.render.image_sign",
        Route::Render(..) => "storage.render.image_authenticated",
        Route::PurgeCache { key: Some(_), .. } => "storage.cdn.purge_object_cache",
        Route::PurgeCache {
            bucket: Some(_), ..
        } => "storage.cdn.purge_bucket_cache",
        Route::PurgeCache { .. } => "storage.cdn.purge_tenant_cache",
        Route::Resumable { is_signed, .. } => tus::operation(parts, *is_signed),
        // It says itself what it does, request by request.
        Route::S3 => "",
    }
}
