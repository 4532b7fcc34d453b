//! Requests through a tower service.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use tower::{Service, ServiceExt};

use super::{Answer, Outgoing, Transport, TransportError};
use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A tower service that answers HTTP requests. Implemented for all that fit.
pub trait HttpService: MaybeSend + MaybeSync + 'static {
    /// Sends one request and reads the whole answer, up to a limit.
    fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        max_bytes: usize,
    ) -> BoxFuture<'static, Result<Response<Bytes>, BoxError>>;
}

impl<S, B> HttpService for S
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone,
    S: MaybeSend + MaybeSync + 'static,
    S::Error: Into<BoxError>,
    S::Future: MaybeSend + 'static,
    B: Body + MaybeSend + 'static,
    B::Data: MaybeSend,
    B::Error: Into<BoxError>,
{
    fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        max_bytes: usize,
    ) -> BoxFuture<'static, Result<Response<Bytes>, BoxError>> {
        let service = self.clone();
        Box::pin(async move {
            let response = service.oneshot(request).await.map_err(Into::into)?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, max_bytes).collect().await?.to_bytes();
            Ok(Response::from_parts(parts, body))
        })
    }
}

pub(super) struct OverService<S>(pub(super) S);

impl<S: HttpService> Transport for OverService<S> {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Answer, TransportError>> {
        let max_bytes = request.max_answer_bytes;
        let mut outgoing = Request::new(Full::new(request.body));
        *outgoing.method_mut() = request.method;
        *outgoing.headers_mut() = request.headers;
        let uri = request.url.parse();
        Box::pin(async move {
            *outgoing.uri_mut() =
                uri.map_err(|_| TransportError::new("the request's URL is malformed"))?;
            let response = self.0.exchange(outgoing, max_bytes).await;
            let response = response.map_err(|error| TransportError::new(error.to_string()))?;
            let (parts, body) = response.into_parts();
            Ok(Answer {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body,
            })
        })
    }
}
