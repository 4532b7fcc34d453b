//! The platform API from the command line: over the control socket on the server's own machine,
//! else over HTTP with a personal access token (console contract L7).

use std::{path::PathBuf, sync::Arc};

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

use super::Global;
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// Where requests go.
pub(crate) struct Client(Way);

enum Way {
    Socket(PathBuf),
    Remote { base: url::Url, token: String },
}

impl Client {
    /// The server that the global options name; fails with 3 when none runs here.
    pub(crate) fn connect(global: &Global) -> Outcome<Self> {
        if let Some(url) = &global.api_url {
            let base = url::Url::parse(url)
                .map_err(|error| Failure::usage(format!("--api-url {url}: {error}")))?;
            let token = std::env::var("PLINTH_ACCESS_TOKEN").map_err(|_| {
                Failure::new(
                    Kind::Forbidden,
                    "an access token is needed for another machine",
                )
                .next_step(
                    "Make one there with `plinth tokens create`, then export \
                         PLINTH_ACCESS_TOKEN=sbp_…",
                )
            })?;
            return Ok(Self(Way::Remote { base, token }));
        }
        let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
        match folder.running() {
            Some(running) => Ok(Self(Way::Socket(running.control_socket))),
            None => Err(not_running(&folder)),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Outcome<Value> {
        self.request(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Outcome<Value> {
        self.request(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Outcome<Value> {
        self.request(Method::DELETE, path, None).await
    }

    /// The answer's lines as they come, where the request asks for work.
    pub(crate) async fn post_stream(&self, path: &str, body: Value) -> Outcome<Incoming> {
        let (status, body) = self.send(Method::POST, path, Some(body)).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(refused(status, &read(body).await?)),
        }
    }

    async fn request(&self, method: Method, path: &str, body: Option<Value>) -> Outcome<Value> {
        let (status, body) = self.send(method, path, body).await?;
        let value = read(body).await?;
        match status.is_success() {
            true => Ok(value),
            false => Err(refused(status, &value)),
        }
    }

    /// The answer's lines as they come, for live tails.
    pub(crate) async fn stream(&self, path: &str) -> Outcome<Incoming> {
        let (status, body) = self.send(Method::GET, path, None).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(Failure::new(
                Kind::Failure,
                format!("the server answered {status}"),
            )),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Outcome<(StatusCode, Incoming)> {
        let mut request = Request::builder()
            .method(method)
            .header(header::ACCEPT, "application/json");
        let bytes = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                serde_json::to_vec(&body)?
            }
            None => Vec::new(),
        };
        let body = Full::new(Bytes::from(bytes));
        let response = match &self.0 {
            Way::Socket(socket) => {
                let stream = UnixStream::connect(socket).await.map_err(|error| {
                    Failure::new(
                        Kind::NotRunning,
                        format!(
                            "the server cannot be reached over {}: {error}",
                            socket.display()
                        ),
                    )
                })?;
                let request = request
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .body(body)?;
                exchange(stream, request).await?
            }
            Way::Remote { base, token } => {
                let prefix = base.path().trim_end_matches('/');
                let host = base.host_str().unwrap_or_default();
                let request = request
                    .uri(format!("{prefix}{path}"))
                    .header(header::HOST, base.authority())
                    .header(header::AUTHORIZATION, format!("Bearer {token}"))
                    .body(body)?;
                let port = base.port_or_known_default().unwrap_or(80);
                let stream = TcpStream::connect((host, port))
                    .await
                    .map_err(|error| anyhow::anyhow!("{host}:{port} cannot be reached: {error}"))?;
                match base.scheme() {
                    "https" => exchange(secure(stream, host).await?, request).await?,
                    _ => exchange(stream, request).await?,
                }
            }
        };
        let (parts, body) = response.into_parts();
        Ok((parts.status, body))
    }
}

async fn read(body: Incoming) -> Outcome<Value> {
    let bytes = body.collect().await?.to_bytes();
    Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// What the server said against it.
fn refused(status: StatusCode, answer: &Value) -> Failure {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Kind::Forbidden,
        StatusCode::CONFLICT => Kind::Conflict,
        _ => Kind::Failure,
    };
    let message = answer["message"]
        .as_str()
        .map_or_else(|| format!("the server answered {status}"), str::to_owned);
    Failure::new(kind, message)
}

/// One request on one connection: commands are short.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Outcome<http::Response<Incoming>> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}

async fn secure(
    stream: TcpStream,
    host: &str,
) -> Outcome<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(host.to_owned())?;
    Ok(tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?)
}

pub(crate) fn not_running(folder: &Folder) -> Failure {
    Failure::new(
        Kind::NotRunning,
        format!("no server runs for {}", folder.root.display()),
    )
    .next_step("Start one with `plinth start`, or name another folder with --workdir.")
}

/// A ref or name as a path segment.
pub(crate) fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}
