//! Every request: CORS, route, request context, handler.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{Request, StatusCode};
use plinth_project::{BodyLimit, Cors, Project};
use serde_json::json;

use crate::{
    buckets,
    config::StorageConfig,
    error::StorageError,
    images::ImageRenderer,
    objects,
    request::{
        Access, BodyTimeout, BucketAction, ObjectAction, RequestContext, Route, close_connection,
    },
    s3,
    service::StorageService,
    tus,
};

/// Response headers that scripts of other origins may read.
const EXPOSED_HEADERS: &str = "ETag, Content-Length, Content-Range, Accept-Ranges, Content-Disposition, \
     Last-Modified, X-Transformations, Location, Upload-Offset, Upload-Length, Upload-Metadata, \
     Upload-Expires, Upload-Defer-Length, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, \
     Tus-Complete, Retry-After";

fn cors() -> Cors {
    Cors::any().expose(EXPOSED_HEADERS).max_age(86_400)
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
        if let Ok(Route::Resumable { .. }) = Route::parse(&parts.method, parts.uri.path()) {
            *response.status_mut() = StatusCode::NO_CONTENT;
            tus::add_capabilities(&project.config::<StorageConfig>(), response.headers_mut());
        }
        return response;
    }
    // Files are as large as buckets allow; each reader of a body has its own limit.
    if let Some(limit) = parts.extensions.get::<BodyLimit>() {
        limit.lift();
    }
    let headers = parts.headers.clone();
    let mut response = respond(&service, project, parts, body).await;
    cors.decorate(&headers, response.headers_mut());
    response
}

/// Every request to an endpoint of the S3 protocol alone.
pub(crate) async fn serve_s3(
    State(service): State<StorageService>,
    project: Project,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let cors = cors();
    if Cors::is_preflight(&parts.method, &parts.headers) {
        return cors.preflight(&parts.headers);
    }
    if let Some(limit) = parts.extensions.get::<BodyLimit>() {
        limit.lift();
    }
    let project = service.project_context(&project);
    let (headers, path) = (parts.headers.clone(), parts.uri.path().to_owned());
    let mut response = if project.config.is_enabled {
        let body = BodyTimeout::new(project.config.gc.upload_timeout).apply(body);
        s3::serve(project, parts, body, &path).await
    } else {
        StorageError::no_such_route(&parts.method, &path).into_response()
    };
    cors.decorate(&headers, response.headers_mut());
    response
}

async fn respond(
    service: &StorageService,
    project: Project,
    parts: http::request::Parts,
    body: Body,
) -> Response {
    let project = service.project_context(&project);
    let route = Route::parse(&parts.method, parts.uri.path());
    let route = match route {
        Ok(route) if project.config.is_enabled => route,
        Ok(_) => {
            return StorageError::no_such_route(&parts.method, parts.uri.path()).into_response();
        }
        Err(error) => return error.into_response(),
    };
    let body = BodyTimeout::new(project.config.gc.upload_timeout).apply(body);
    if route == Route::S3 {
        let path = parts.uri.path();
        let path = path.strip_prefix("/s3").unwrap_or(path).to_owned();
        return s3::serve(project, parts, body, &path).await;
    }
    let operation = operation(&route, &parts);
    let context = Arc::new(RequestContext::new(project, parts, operation));
    let is_upload = route.takes_file();
    let handled = dispatch(&context, service.renderer(), route, body).await;
    let mut response = match handled {
        Ok(response) => response,
        // The rest of a rejected file is not read.
        Err(error) if is_upload => close_connection(error.into_response()),
        Err(error) => error.into_response(),
    };
    // For the access log.
    if let Some(caller) = context.optional_caller() {
        response.extensions_mut().insert(caller.clone());
    }
    response
}

async fn dispatch(
    context: &Arc<RequestContext>,
    renderer: &ImageRenderer,
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
        Route::Object(action, path) => match action {
            ObjectAction::Create => objects::create(context, path, body).await,
            ObjectAction::Replace => objects::replace(context, path, body).await,
            ObjectAction::UploadSigned => objects::upload_signed(context, path, body).await,
            ObjectAction::SignUpload => objects::sign_upload(context, &path, body).await,
            ObjectAction::Download(access) => objects::download(context, access, &path).await,
            ObjectAction::Head(access) => objects::head(context, access, &path).await,
            ObjectAction::Info(access) => objects::info(context, access, &path).await,
            ObjectAction::Sign => objects::sign(context, &path, body).await,
            ObjectAction::Delete => objects::delete(context, &path).await,
        },
        Route::Render(access, path) => {
            objects::render_image(context, renderer, access, &path).await
        }
        Route::Resumable { is_signed, id } => {
            Ok(tus::respond(context, is_signed, id.as_deref(), body).await)
        }
        Route::S3 | Route::PurgeCache { .. } => {
            let path = context.parts.uri.path();
            Err(StorageError::no_such_route(&context.parts.method, path))
        }
    }
}

/// `GET /health`: whether the database responds.
async fn health(context: &RequestContext) -> Result<Response, StorageError> {
    context.caller_or_invalid_token()?;
    let result = context
        .as_service_role()
        .read_only()
        .query("select 1", &[])
        .await;
    Ok(axum::Json(json!({ "healthy": result.is_ok() })).into_response())
}

/// What policies read as `storage.operation()` (storage contract §10.4).
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
        // S3 has operations of its own.
        Route::S3 => "",
    }
}
