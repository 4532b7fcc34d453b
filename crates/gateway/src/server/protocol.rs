//! HTTP/1.1 and HTTP/2 with our limits.

use std::{sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulConnection},
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{GatewayConfig, TrackedBody};

/// Heads up to this multiple of the limit are parsed, so that we can reject them with a reason;
/// larger ones are rejected by hyper.
const HEAD_LIMIT_FACTOR: usize = 4;

/// hyper's default; a smaller buffer slows large bodies down.
const MIN_BUFFER: usize = 400 << 10;

const MAX_STREAMS: u32 = 200;
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Protocol settings of all connections. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Protocol(Arc<Builder<TokioExecutor>>);

impl Protocol {
    pub(crate) fn new(config: &GatewayConfig) -> Self {
        let max_parsed_head = config.max_header_bytes.saturating_mul(HEAD_LIMIT_FACTOR);
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(config.header_timeout)
            .max_buf_size(max_parsed_head.max(MIN_BUFFER));
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(max_parsed_head).unwrap_or(u32::MAX))
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        Self(Arc::new(builder))
    }

    /// A connection, to be driven to its end.
    pub(crate) fn serve<I, S>(
        &self,
        stream: I,
        service: S,
    ) -> impl GracefulConnection<Error = Box<dyn std::error::Error + Send + Sync>> + use<I, S>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: hyper::service::Service<
                http::Request<hyper::body::Incoming>,
                Response = http::Response<TrackedBody>,
                Error = std::convert::Infallible,
            > + 'static,
        S::Future: Send + 'static,
    {
        self.0
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
            .into_owned()
    }
}
