//! The control socket: only for its owner, and it replaces nothing but stale sockets.

mod support;

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{Extension, Router, routing::get};
use plinth_gateway::{BindError, Drained, serve_unix};
use plinth_project::RequestId;
use support::Client;
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
struct Marked(&'static str);

struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<Drained, BindError>>,
}

fn start(path: &Path) -> Running {
    let show = async |Extension(Marked(text)): Extension<Marked>, id: Extension<RequestId>| {
        assert!(!id.0.0.is_empty());
        text
    };
    let router = Router::new()
        .route("/mark", get(show))
        .route("/panic", get(async || -> String { panic!("a mistake") }));
    let stop = CancellationToken::new();
    let (path, token): (PathBuf, _) = (path.to_owned(), stop.clone());
    let mark = |extensions: &mut http::Extensions| {
        extensions.insert(Marked("came over the socket"));
    };
    let task = tokio::spawn(async move {
        serve_unix(&path, router, mark, token, Duration::from_secs(5)).await
    });
    Running { stop, task }
}

async fn connect(path: &Path) -> Client {
    loop {
        match UnixStream::connect(path).await {
            Ok(stream) => return Client::http1_on(stream).await,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn requests_are_marked_and_the_socket_is_its_owners() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run/control.sock");
    let running = start(&path);

    let mut client = connect(&path).await;
    assert_eq!(
        client.get("/mark", &[]).await.text(),
        "came over the socket"
    );
    assert_eq!(client.get("/panic", &[]).await.status, 500);
    assert_eq!(client.get("/mark", &[]).await.status, 200);

    let socket = fs::symlink_metadata(&path).expect("the socket");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let parent = path.parent().expect("a folder");
    assert_eq!(
        fs::metadata(parent)
            .expect("the folder")
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    let names: Vec<_> = fs::read_dir(parent)
        .expect("the folder")
        .flatten()
        .collect();
    assert_eq!(names.len(), 1, "nothing else is left there: {names:?}");

    drop(client);
    running.stop.cancel();
    let drained = running.task.await.expect("the end").expect("no error");
    assert_eq!(drained.aborted, 0);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("control.sock");
    drop(UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists(), "dropping a listener leaves its file");

    let running = start(&path);

    assert_eq!(connect(&path).await.get("/mark", &[]).await.status, 200);
    running.stop.cancel();
}

#[tokio::test]
async fn a_socket_in_use_and_other_files_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let used = folder.path().join("used.sock");
    let _other = UnixListener::bind(&used).expect("a socket");
    let file = folder.path().join("file");
    fs::write(&file, "precious").expect("written");
    let long = folder.path().join("x".repeat(120));

    let error = |path: &Path| {
        let running = start(path);
        async move { running.task.await.expect("the end").expect_err("rejected") }
    };

    assert!(matches!(error(&used).await, BindError::SocketInUse(_)));
    assert!(matches!(error(&file).await, BindError::NotASocket(_)));
    assert_eq!(fs::read_to_string(&file).expect("still there"), "precious");
    let rejection = error(&long).await;
    assert!(
        matches!(rejection, BindError::PathTooLong(_)),
        "{rejection}"
    );
}
