//! Functions over the API: forms as clients send them, and a runner that remembers.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::body::{Body, to_bytes};
use http::{HeaderMap, Method, Request, StatusCode, header::CONTENT_TYPE};
use plinth_platform::api::{self, ControlSocket};
use plinth_project::{
    BoxFuture, FunctionRunner, FunctionSource, PreparationError, Project, ProjectName, ProjectRef,
    SourceError,
};
use serde_json::Value;
use tower::ServiceExt;

use super::TestPlatform;

pub const BOUNDARY: &str = "frontier";

/// A response of the API.
#[derive(Debug)]
pub struct TestResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl TestResponse {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        assert_eq!(self.status, status, "{text}");
        self.json()
    }
}

/// What is sent: its type and its bytes.
pub type Sent = Option<(String, Vec<u8>)>;

pub fn json_body(value: Value) -> Sent {
    Some((
        "application/json".to_owned(),
        value.to_string().into_bytes(),
    ))
}

/// Files first and `metadata` last, as the official CLI sends them.
pub fn form(metadata: Value, files: &[(&str, &[u8])]) -> Sent {
    let mut body = Vec::new();
    for (path, content) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{path}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    let tail = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{metadata}\r\n\
         --{BOUNDARY}--\r\n"
    );
    body.extend_from_slice(tail.as_bytes());
    Some((format!("multipart/form-data; boundary={BOUNDARY}"), body))
}

impl TestPlatform {
    /// A request of the owner.
    pub async fn request(&self, method: Method, uri: &str, sent: Sent) -> TestResponse {
        let mut request = Request::builder().method(method).uri(uri);
        let body = match sent {
            Some((content_type, bytes)) => {
                request = request.header(CONTENT_TYPE, content_type);
                Body::from(bytes)
            }
            None => Body::empty(),
        };
        let request = request.extension(ControlSocket).body(body);
        self.send(request.expect("a request")).await
    }

    pub async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = api::routes(self.platform.clone()).oneshot(request).await;
        let (parts, body) = response.expect("infallible").into_parts();
        let bytes = to_bytes(body, 64 << 20).await.expect("a whole body");
        TestResponse {
            status: parts.status,
            headers: parts.headers,
            bytes: bytes.to_vec(),
        }
    }

    pub async fn reference(&self, name: &ProjectName) -> ProjectRef {
        let row = self.platform.load_project(name).await;
        row.expect("a project").reference
    }

    /// Attaches a runner that remembers.
    pub fn with_runner(&self) -> Arc<RememberingRunner> {
        let runner = Arc::new(RememberingRunner::default());
        self.platform.attach_functions(runner.clone());
        runner
    }
}

/// Stands in for the functions service, which this crate knows nothing of: remembers what it was
/// asked for, rejects sources that contain `SYNTAX ERROR`, and has no disk for `LARGE`.
#[derive(Default)]
pub struct RememberingRunner {
    pub prepared: Mutex<Vec<(FunctionSource, BTreeMap<String, String>)>>,
    pub changed: Mutex<Vec<ProjectRef>>,
    pub removed: Mutex<Vec<ProjectRef>>,
}

impl RememberingRunner {
    pub fn changes(&self) -> usize {
        self.changed.lock().expect("no panic").len()
    }
}

impl FunctionRunner for RememberingRunner {
    fn prepare<'a>(
        &'a self,
        _project: &'a Project,
        source: &'a FunctionSource,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), PreparationError>> {
        Box::pin(async move {
            let mut files = BTreeMap::new();
            read_folder(folder, folder, &mut files);
            if let Some((path, _)) = files.iter().find(|(_, text)| text.contains("SYNTAX ERROR")) {
                return Err(SourceError(format!("{path}:1 Unexpected token")).into());
            }
            if files.values().any(|text| text.contains("LARGE")) {
                return Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into());
            }
            let mut prepared = self.prepared.lock().expect("no panic");
            prepared.push((source.clone(), files));
            Ok(())
        })
    }

    fn reload<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()> {
        self.changed.lock().expect("no panic").push(project.clone());
        Box::pin(async {})
    }

    fn remove_project<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, std::io::Result<()>> {
        let mut removed = self.removed.lock().expect("no panic");
        removed.push(project.clone());
        Box::pin(async { Ok(()) })
    }
}

/// All files below a folder, as text by their paths.
pub fn read_folder(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_folder(root, &path, files);
            continue;
        }
        let relative = path.strip_prefix(root).expect("below the root");
        let content = fs::read(&path).expect("a file");
        files.insert(
            relative.display().to_string(),
            String::from_utf8_lossy(&content).into_owned(),
        );
    }
}
