//! Requests through a tower service.

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use tower::{Service, ServiceExt};

use super::{HttpResponse, Outgoing, StreamedBody, StreamedResponse, Transport, TransportError};
use crate::runtime::{BoxFuture, BoxStream, MaybeSend, MaybeSync};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A tower service for HTTP requests. Implemented for all that fit.
pub trait HttpService: MaybeSend + MaybeSync + 'static {
    /// Sends one request and reads the whole response, up to a limit.
    fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        max_bytes: usize,
    ) -> BoxFuture<'static, Result<Response<Bytes>, BoxError>>;

    /// Sends one request; the response's body is streamed.
    fn open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> BoxFuture<'static, Result<Response<ServicePieces>, BoxError>>;
}

/// The chunks of a response's body.
type ServicePieces = BoxStream<'static, Result<Bytes, BoxError>>;

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

    fn open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> BoxFuture<'static, Result<Response<ServicePieces>, BoxError>> {
        let service = self.clone();
        Box::pin(async move {
            let response = service.oneshot(request).await.map_err(Into::into)?;
            Ok(response.map(|body| -> ServicePieces {
                let pieces = Box::pin(body).into_data_stream();
                Box::pin(pieces.map(|piece| match piece {
                    Ok(mut piece) => Ok(piece.copy_to_bytes(piece.remaining())),
                    Err(error) => Err(error.into()),
                }))
            }))
        })
    }
}

pub(super) struct OverService<S>(pub(super) S);

impl<S: HttpService> Transport for OverService<S> {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let max_bytes = request.max_response_bytes;
            let response = self.0.exchange(outgoing(request)?, max_bytes).await;
            let (parts, body) = response.map_err(transport_error)?.into_parts();
            Ok(HttpResponse {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body,
            })
        })
    }

    /// Services take whole bodies.
    fn stream(
        &self,
        mut request: Outgoing,
        body: Option<StreamedBody>,
    ) -> BoxFuture<'_, Result<StreamedResponse, TransportError>> {
        Box::pin(async move {
            if let Some(body) = body {
                request.body = body.collect().await?;
            }
            let response = self.0.open(outgoing(request)?).await;
            let (parts, body) = response.map_err(transport_error)?.into_parts();
            Ok(StreamedResponse {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body: Box::pin(body.map(|piece| piece.map_err(transport_error))),
            })
        })
    }
}

fn outgoing(request: Outgoing) -> Result<Request<Full<Bytes>>, TransportError> {
    let uri = request.url.parse();
    let mut outgoing = Request::new(Full::new(request.body));
    *outgoing.method_mut() = request.method;
    *outgoing.headers_mut() = request.headers;
    *outgoing.uri_mut() = uri.map_err(|_| TransportError::new("the request's URL is malformed"))?;
    Ok(outgoing)
}

fn transport_error(error: BoxError) -> TransportError {
    TransportError::new(error.to_string())
}
