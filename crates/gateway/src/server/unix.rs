//! The control socket: HTTP for the operating-system user that started the server.
//!
//! The socket is created in a directory of mode 0700, gets mode 0600 there, and is then renamed to
//! its path: at no moment can another user connect.

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

/// Serves the router on a unix socket until `shutdown`. `mark` adds an extension by which handlers
/// know that a request did not come over the network.
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
                tracing::warn!("accepting on the control socket failed, retrying: {error}");
                tokio::time::sleep(super::ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        let (router, mark) = (router.clone(), Arc::clone(&mark));
        connections.spawn(|connection| async move {
            let service = service_fn(move |request| {
                serve_request(router.clone(), Arc::clone(&mark), request)
            });
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
    let drained = connections.drain(drain).await;
    // Another process may have replaced it with its own.
    if fs::symlink_metadata(&path).is_ok_and(|found| found.ino() == inode) {
        let _ = fs::remove_file(&path);
    }
    Ok(drained)
}

async fn serve_request(
    router: Router,
    mark: Arc<impl Fn(&mut Extensions)>,
    mut request: http::Request<Incoming>,
) -> Result<axum::response::Response, std::convert::Infallible> {
    let id = request_id::assign(request.headers(), true);
    request.extensions_mut().insert(id.clone());
    mark(request.extensions_mut());
    match panics::catch(router.oneshot(request)).await {
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(request_id = %id, "request handler panicked: {}", panics::message(&*panic));
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
        // Binding would succeed, since the socket is made elsewhere, but nothing could connect.
        if std::os::unix::net::SocketAddr::from_pathname(path).is_err() {
            return Err(BindError::PathTooLong(path.to_owned()));
        }
        ensure_not_in_use(path).await?;
        let parent = path.parent().unwrap_or(Path::new("."));
        let private_dir = parent.join(format!(".s{}", std::process::id()));
        let socket = Self::create(parent, &private_dir, path);
        let _ = fs::remove_dir_all(&private_dir);
        socket.map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => BindError::PathTooLong(path.to_owned()),
            _ => BindError::Socket(path.to_owned(), error),
        })
    }

    fn create(parent: &Path, private_dir: &Path, path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        // May be left over from a crashed process of the same pid.
        let _ = fs::remove_dir_all(private_dir);
        fs::DirBuilder::new().mode(0o700).create(private_dir)?;
        let made = private_dir.join("s");
        let listener = UnixListener::bind(&made)?;
        fs::set_permissions(&made, fs::Permissions::from_mode(0o600))?;
        let inode = fs::symlink_metadata(&made)?.ino();
        // Replaces a stale socket atomically.
        fs::rename(&made, path)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            inode,
        })
    }
}

/// Only a stale socket, on which nothing listens, may be replaced.
async fn ensure_not_in_use(path: &Path) -> Result<(), BindError> {
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
