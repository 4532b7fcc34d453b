//! A real S3 server that a test starts for itself: `s3s-fs` over a folder of its own. Between it and
//! the socket stands something that fails on demand, as stores and networks do.

mod mood;

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

pub use mood::{Mood, Switch};

/// What the server lets in.
pub const ACCESS_KEY: &str = "teststore-access-key";
/// The other half of it.
pub const SECRET_KEY: &str = "teststore-secret-key";
/// The bucket that is there from the beginning.
pub const BUCKET: &str = "plinth";

/// A running server; it ends, and its files go, when this is dropped.
#[derive(Debug)]
pub struct TestStore {
    address: SocketAddr,
    folder: TempDir,
    switch: Arc<Switch>,
    serving: JoinHandle<()>,
}

impl TestStore {
    /// On a free port of this machine.
    pub async fn start() -> io::Result<Self> {
        let folder = TempDir::new()?;
        std::fs::create_dir(folder.path().join(BUCKET))?;
        let files = FileSystem::new(folder.path()).map_err(|error| {
            // The error of that crate is none that others could use.
            io::Error::other(format!("{error:?}"))
        })?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let root = folder.path().to_owned();
        let answer = move |request: Request| {
            let (service, root) = (service.clone(), root.clone());
            async move {
                match is_of_unknown_upload(&request, &root) {
                    true => no_such_upload(),
                    false => answer(&service, request).await,
                }
            }
        };
        let switch = Arc::new(Switch::default());
        let router = Router::new()
            .fallback(answer)
            .layer(middleware::from_fn_with_state(switch.clone(), fail));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            folder,
            switch,
            serving,
        })
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where the objects of the bucket are files.
    pub fn files(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// Parts of uploads that were neither completed nor aborted.
    pub fn unfinished_parts(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path());
        let names = entries.into_iter().flatten().flatten();
        let is_part = |name: &str| name.starts_with(".upload_id-") && name.contains(".part-");
        names
            .filter(|entry| entry.file_name().to_str().is_some_and(is_part))
            .count()
    }

    /// How it answers from now on.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(service: &s3s::service::S3Service, request: Request) -> Response {
    let request = request.map(s3s::Body::http_body_unsync);
    match service.call(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => {
            let mut response = Response::new(Body::from(format!("{error:?}")));
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    }
}

/// Whether an upload shall be given up that is over, or never was. `s3s-fs` says that nobody may;
/// real stores say that there is none.
fn is_of_unknown_upload(request: &Request, root: &Path) -> bool {
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

async fn fail(State(switch): State<Arc<Switch>>, request: Request, next: Next) -> Response {
    match switch.mood_for(&request) {
        Mood::Good => next.run(request).await,
        Mood::Unavailable => {
            // As real ones do: a client that still sends would see a broken connection instead.
            _ = request.into_body().collect().await;
            mood::unavailable()
        }
        Mood::Silent => std::future::pending().await,
        Mood::Pretending => {
            let mut response = Response::default();
            *response.status_mut() = http::StatusCode::NO_CONTENT;
            response
        }
        Mood::Slow(pause) => {
            tokio::time::sleep(pause).await;
            next.run(request).await
        }
    }
}
