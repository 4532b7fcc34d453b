//! The control socket: HTTP for the one account that started the server.
//!
//! The socket is made in a folder that only we can enter, given its permissions there, and then
//! moved to its place: at no moment can anybody else connect.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::Router;
use http::Extensions;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

use super::{BindError, Drained, connections::Connections};
use crate::{error::EdgeError, panics, request_id};

/// Serves the router on a socket until `shutdown`. `mark` adds to each request what tells it
/// apart from those that came over the network.
pub async fn serve_unix(
    path: &Path,
    router: Router,
    mark: impl Fn(&mut Extensions) + Send + Sync + 'static,
    shutdown: CancellationToken,
    drain: Duration,
) -> Result<Drained, BindError> {
    let socket = Socket::bind(path).await?;
    let mark = Arc::new(mark);
    let connections = Connections::new(shutdown.clone());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = socket.listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("the control socket cannot accept at the moment: {error}");
                tokio::time::sleep(super::ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (router, mark) = (router.clone(), Arc::clone(&mark));
        connections.spawn(|connection| async move {
            let service =
                service_fn(move |request| answer(router.clone(), Arc::clone(&mark), request));
            let builder = Builder::new(TokioExecutor::new());
            let stream = TokioIo::new(stream);
            let served =
                builder.serve_connection_with_upgrades(stream, TowerToHyperService::new(service));
            connection.drive(served.into_owned()).await;
        });
    }
    let Socket {
        listener,
        path,
        inode,
    } = socket;
    drop(listener);
    let drained = connections.finish(drain).await;
    // By now another process may have put its own there.
    if fs::symlink_metadata(&path).is_ok_and(|found| found.ino() == inode) {
        let _ = fs::remove_file(&path);
    }
    Ok(drained)
}

async fn answer(
    router: Router,
    mark: Arc<impl Fn(&mut Extensions)>,
    mut request: http::Request<Incoming>,
) -> Result<axum::response::Response, std::convert::Infallible> {
    let id = request_id::name(request.headers(), true);
    request.extensions_mut().insert(id.clone());
    mark(request.extensions_mut());
    match panics::caught(router.oneshot(request)).await {
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(request_id = %id, "a handler panicked: {}", panics::describe(&*panic));
            Ok(axum::response::IntoResponse::into_response(
                EdgeError::Panicked(id),
            ))
        }
    }
}

struct Socket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl Socket {
    async fn bind(path: &Path) -> Result<Self, BindError> {
        // It would bind, since it is made elsewhere, but nobody could connect to it.
        if std::os::unix::net::SocketAddr::from_pathname(path).is_err() {
            return Err(BindError::PathTooLong(path.to_owned()));
        }
        refuse_if_taken(path).await?;
        let parent = path.parent().unwrap_or(Path::new("."));
        let workshop = parent.join(format!(".s{}", std::process::id()));
        let made = Self::make(parent, &workshop, path);
        let _ = fs::remove_dir_all(&workshop);
        made.map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => BindError::PathTooLong(path.to_owned()),
            _ => BindError::Socket(path.to_owned(), error),
        })
    }

    fn make(parent: &Path, workshop: &Path, path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        // A crashed process of the same number may have left one; it was ours alone as well.
        let _ = fs::remove_dir_all(workshop);
        fs::DirBuilder::new().mode(0o700).create(workshop)?;
        let made = workshop.join("s");
        let listener = UnixListener::bind(&made)?;
        fs::set_permissions(&made, fs::Permissions::from_mode(0o600))?;
        let inode = fs::symlink_metadata(&made)?.ino();
        // Takes the place of a stale socket in one step.
        fs::rename(&made, path)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            inode,
        })
    }
}

/// A socket on which nobody answers is stale and may be replaced; anything else may not.
async fn refuse_if_taken(path: &Path) -> Result<(), BindError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(BindError::Socket(path.to_owned(), error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(BindError::NotASocket(path.to_owned()));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Ok(_) => Err(BindError::SocketInUse(path.to_owned())),
        Err(_) => Ok(()),
    }
}
