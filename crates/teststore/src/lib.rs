//! A real S3 server for tests: `s3s-fs` over a temporary folder, behind a middleware that injects
//! faults on demand ([`FaultInjector`]).

mod faults;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use http::Method;
use http_body_util::BodyExt as _;
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

pub use faults::{Fault, FaultInjector};

/// The access key that the server accepts.
pub const ACCESS_KEY: &str = "teststore-access-key";
/// Its secret key.
pub const SECRET_KEY: &str = "teststore-secret-key";
/// The bucket that exists from the start.
pub const BUCKET: &str = "plinth";

/// A running server. Dropped, it stops and its files are removed.
#[derive(Debug)]
pub struct TestStore {
    address: SocketAddr,
    folder: TempDir,
    faults: Arc<FaultInjector>,
    server: JoinHandle<()>,
}

impl TestStore {
    /// Starts on a free port of this machine.
    pub async fn start() -> io::Result<Self> {
        let folder = TempDir::new()?;
        std::fs::create_dir(folder.path().join(BUCKET))?;
        let files = FileSystem::new(folder.path()).map_err(|error| {
            // That type does not implement `std::error::Error`.
            io::Error::other(format!("{error:?}"))
        })?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let root = folder.path().to_owned();
        let handler = move |request: Request| {
            let (service, root) = (service.clone(), root.clone());
            async move {
                if is_abort_of_unknown_upload(&request, &root) {
                    no_such_upload()
                } else {
                    call_s3(&service, request).await
                }
            }
        };
        let faults = Arc::new(FaultInjector::default());
        let router = Router::new()
            .fallback(handler)
            .layer(middleware::from_fn_with_state(faults.clone(), inject));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            folder,
            faults,
            server,
        })
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The folder in which the objects of the bucket are files.
    pub fn files(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// How many parts belong to uploads that were neither completed nor aborted.
    pub fn unfinished_parts(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path());
        let names = entries.into_iter().flatten().flatten();
        let is_part = |name: &str| name.starts_with(".upload_id-") && name.contains(".part-");
        names
            .filter(|entry| entry.file_name().to_str().is_some_and(is_part))
            .count()
    }

    /// Lets requests fail.
    pub fn faults(&self) -> &FaultInjector {
        &self.faults
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn call_s3(service: &s3s::service::S3Service, request: Request) -> Response {
    let request = request.map(s3s::Body::http_body_unsync);
    match service.call(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => {
            let mut response = Response::new(Body::from(format!("{error:?}")));
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    }
}

/// Whether a request aborts an upload that does not exist. `s3s-fs` responds with `AccessDenied`;
/// real stores with `NoSuchUpload`.
fn is_abort_of_unknown_upload(request: &Request, root: &Path) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let id = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "uploadId");
    let is_known = |id: &str| root.join(format!(".upload-{id}.json")).exists();
    *request.method() == Method::DELETE && id.is_some_and(|(_, id)| !is_known(&id))
}

fn no_such_upload() -> Response {
    let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchUpload</Code>\
                <Message>The specified upload does not exist.</Message></Error>";
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = http::StatusCode::NOT_FOUND;
    response
}

async fn inject(
    State(faults): State<Arc<FaultInjector>>,
    request: Request,
    next: Next,
) -> Response {
    match faults.fault_for(&request) {
        Fault::None => next.run(request).await,
        Fault::Unavailable => {
            // Reads the body as real servers do: otherwise the client would see a broken
            // connection.
            _ = request.into_body().collect().await;
            faults::unavailable_response()
        }
        Fault::Hang => std::future::pending().await,
        Fault::FakeSuccess => {
            let mut response = Response::default();
            *response.status_mut() = http::StatusCode::NO_CONTENT;
            response
        }
        Fault::Delay(delay) => {
            tokio::time::sleep(delay).await;
            next.run(request).await
        }
    }
}
