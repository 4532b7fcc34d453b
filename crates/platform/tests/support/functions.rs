//! Functions over the API: forms as clients send them, and a runner that remembers.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::body::Body;
use http::{Method, Request};
use plinth_platform::api::{self, ControlSocket};
use plinth_project::{
    BoxFuture, FunctionRunner, FunctionSource, PreparationError, Project, ProjectName, ProjectRef,
    SourceError,
};
use plinth_testkit::{Call, Reply};
use serde_json::Value;

use super::TestPlatform;

pub const BOUNDARY: &str = "frontier";

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
    pub async fn request(&self, method: Method, uri: &str, sent: Sent) -> Reply {
        let call = Call::new(api::routes(self.platform.clone()), method, uri).with(|request| {
            request.extensions_mut().insert(ControlSocket);
        });
        match sent {
            Some((content_type, bytes)) => call.body(&content_type, bytes).await,
            None => call.await,
        }
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        let call = Call::new(api::routes(self.platform.clone()), Method::GET, "/");
        call.with(|call| *call = request).await
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
