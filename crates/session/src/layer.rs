//! The tower layer.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use http::{Request, Response};
use plinth_client::BoxFuture;
use plinth_token::Secret;
use tower::{Layer, Service};

use crate::builder::{ConfigError, SessionLayerBuilder};
use crate::config::Config;
use crate::metrics;
use crate::rejection::{Problem, SessionRejection};
use crate::request_context::RequestContext;

/// Authenticates each request, refreshes its session, and writes changes back to cookies.
///
/// Wraps any service over `http` types whose response body can be made from a text. Cheap to clone; clones
/// share the configuration.
#[derive(Clone)]
pub struct SessionLayer(Arc<Config>);

impl SessionLayer {
    /// Configures a layer for the project at this URL, with its anonymous key.
    pub fn builder(
        project_url: impl Into<String>,
        anon_key: impl Into<Secret>,
    ) -> SessionLayerBuilder {
        SessionLayerBuilder::new(project_url, anon_key)
    }

    /// Configures a layer from the environment: `SUPABASE_URL`, and `SUPABASE_PUBLISHABLE_KEY` or else
    /// `SUPABASE_ANON_KEY`.
    pub fn builder_from_env() -> Result<SessionLayerBuilder, ConfigError> {
        SessionLayerBuilder::from_variables(|name| std::env::var(name).ok())
    }

    pub(crate) fn new(config: Config) -> Self {
        Self(Arc::new(config))
    }

    /// The name of the session's cookie, which JavaScript clients call the storage key.
    pub fn cookie_name(&self) -> &str {
        &self.0.key
    }

    /// Fetches the project's keys ahead of the first request (A16). If that fails, the first request that
    /// needs them retries.
    pub async fn warm_up(&self) {
        let keys = self.0.backend.keys(None).await;
        if keys.is_empty() {
            tracing::debug!("cannot fetch the project's signing keys yet, or it publishes none");
        }
        metrics::keys(self.0.project(), self.0.backend.key_health());
    }

    #[cfg(test)]
    pub(crate) fn config(&self) -> &Config {
        &self.0
    }
}

impl std::fmt::Debug for SessionLayer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionLayer")
            .field("cookie_name", &self.0.key)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for SessionLayer {
    type Service = SessionService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SessionService {
            inner,
            config: Arc::clone(&self.0),
        }
    }
}

/// A service inside a [`SessionLayer`].
#[derive(Clone)]
pub struct SessionService<S> {
    inner: S,
    config: Arc<Config>,
}

impl<S, RequestBody, ResponseBody> Service<Request<RequestBody>> for SessionService<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    S::Future: Send,
    RequestBody: Send + 'static,
    ResponseBody: From<String>,
{
    type Response = Response<ResponseBody>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut TaskContext<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        // Call the clone that was polled ready.
        let ready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, ready);
        let config = Arc::clone(&self.config);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let context = RequestContext::resolve(config, &mut parts).await;
            let mut response = if context.is_forged() {
                metrics::csrf_rejected();
                csrf_rejection()
            } else {
                parts.extensions.insert(context.clone());
                inner.call(Request::from_parts(parts, body)).await?
            };
            context.write_response_headers(response.headers_mut());
            Ok(response)
        })
    }
}

fn csrf_rejection<B: From<String>>() -> Response<B> {
    let (status, body) = SessionRejection::new(Problem::Csrf).status_and_body();
    let mut response = Response::new(B::from(body));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}
