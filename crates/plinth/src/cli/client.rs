//! The platform API from the command line: over the control socket on the server's own machine,
//! else over HTTP with a personal access token (console contract L7).

use std::{path::PathBuf, sync::Arc};

use http::{Method, Request, Response, StatusCode, header};
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

const JSON: &str = "application/json";

/// A client of the platform API.
pub(crate) struct Client(Transport);

/// Bytes with their type.
pub(crate) struct Payload {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

impl Payload {
    fn json(value: &Value) -> Outcome<Self> {
        Ok(Self {
            content_type: JSON.to_owned(),
            bytes: serde_json::to_vec(value)?.into(),
        })
    }
}

enum Transport {
    Socket(PathBuf),
    Remote { base: url::Url, token: String },
}

impl Client {
    /// The server of the global options; exit code 3 if none runs.
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
                    "Create one there with `plinth tokens create`, then export \
                         PLINTH_ACCESS_TOKEN=sbp_…",
                )
            })?;
            return Ok(Self(Transport::Remote { base, token }));
        }
        let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
        match folder.running() {
            Some(running) => Ok(Self(Transport::Socket(running.control_socket))),
            None => Err(not_running(&folder)),
        }
    }

    /// The server's address, if it is remote.
    pub(crate) fn remote(&self) -> Option<&url::Url> {
        match &self.0 {
            Transport::Socket(_) => None,
            Transport::Remote { base, .. } => Some(base),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Outcome<Value> {
        self.request(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Outcome<Value> {
        self.request(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Outcome<Value> {
        self.request(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Outcome<Value> {
        self.request(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Outcome<Value> {
        self.request(Method::DELETE, path, None).await
    }

    pub(crate) async fn delete_with_body(&self, path: &str, body: Value) -> Outcome<Value> {
        self.request(Method::DELETE, path, Some(body)).await
    }

    /// Posts a body that is not JSON.
    pub(crate) async fn upload(&self, path: &str, payload: Payload) -> Outcome<Value> {
        let response = self.send(Method::POST, path, JSON, Some(payload)).await?;
        read_response(response).await
    }

    /// Gets a body that is not JSON.
    pub(crate) async fn download(&self, path: &str, accept: &str) -> Outcome<Payload> {
        let response = self.send(Method::GET, path, accept, None).await?;
        let (parts, body) = successful(response).await?.into_parts();
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        Ok(Payload {
            content_type: content_type.unwrap_or_default().to_owned(),
            bytes: body.collect().await?.to_bytes(),
        })
    }

    /// Posts a body and returns the response as a stream.
    pub(crate) async fn post_stream(&self, path: &str, body: Value) -> Outcome<Incoming> {
        let body = Some(Payload::json(&body)?);
        let response = self.send(Method::POST, path, JSON, body).await?;
        Ok(successful(response).await?.into_body())
    }

    async fn request(&self, method: Method, path: &str, body: Option<Value>) -> Outcome<Value> {
        let body = body.as_ref().map(Payload::json).transpose()?;
        read_response(self.send(method, path, JSON, body).await?).await
    }

    /// Returns the response as a stream, for log tails.
    pub(crate) async fn stream(&self, path: &str) -> Outcome<Incoming> {
        let response = self.send(Method::GET, path, JSON, None).await?;
        Ok(successful(response).await?.into_body())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<Payload>,
    ) -> Outcome<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .header(header::ACCEPT, accept);
        let bytes = match body {
            Some(payload) => {
                request = request.header(header::CONTENT_TYPE, payload.content_type);
                payload.bytes
            }
            None => Bytes::new(),
        };
        let body = Full::new(bytes);
        let response = match &self.0 {
            Transport::Socket(socket) => {
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
            Transport::Remote { base, token } => {
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
                    "https" => exchange(connect_tls(stream, host).await?, request).await?,
                    _ => exchange(stream, request).await?,
                }
            }
        };
        Ok(response)
    }
}

/// The JSON body, or the server's error.
async fn read_response(response: Response<Incoming>) -> Outcome<Value> {
    read_json(successful(response).await?.into_body()).await
}

async fn successful(response: Response<Incoming>) -> Outcome<Response<Incoming>> {
    match response.status() {
        status if status.is_success() => Ok(response),
        status => Err(server_error(
            status,
            &read_json(response.into_body()).await?,
        )),
    }
}

async fn read_json(body: Incoming) -> Outcome<Value> {
    let bytes = body.collect().await?.to_bytes();
    Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// An error response as a failure.
fn server_error(status: StatusCode, body: &Value) -> Failure {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Kind::Forbidden,
        StatusCode::CONFLICT => Kind::Conflict,
        _ => Kind::Failure,
    };
    let message = body["message"].as_str().map_or_else(
        || format!("the server responded with {status}"),
        str::to_owned,
    );
    Failure::new(kind, message)
}

/// Sends one request on its own connection.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Outcome<Response<Incoming>> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}

async fn connect_tls(
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
