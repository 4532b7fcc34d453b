//! Takes a request to a worker and its response back (functions contract §1–§5).

mod body;
mod exchange;
mod headers;
mod invocation;
mod response;
mod websocket;

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{Method, header::CONTENT_LENGTH};
use plinth_project::{BodyLimit, LocalAddress, Project};

use crate::{
    catalog::{self, Function},
    clock::unix_now,
    config::{FunctionsConfig, Policy},
    error::FunctionError,
    pool::Generation,
    service::{FoundFunction, FunctionsService},
    verify::verify,
    worker::{RequestPermit, ShutdownReason},
};
use exchange::{Deadlines, ExchangeError};
use invocation::Invocation;
use response::Exchanged;

/// How many workers a request is offered to.
const MAX_ATTEMPTS: usize = 5;

const ALLOWED_METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Everything below `/functions/v1`.
pub(crate) async fn invoke(
    State(service): State<FunctionsService>,
    project: Project,
    request: Request,
) -> Response {
    let slug = slug_in(request.uri().path()).to_owned();
    let config = project.config::<FunctionsConfig>();
    let found = match find(&service, &project, &config, request.method(), &slug).await {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };
    let mut invocation = Some(Invocation::begin(
        &project,
        &found.function,
        &config.region,
        &request,
    ));
    let context = RequestContext {
        local_address: request.extensions().get::<LocalAddress>().copied(),
        service,
        project,
        config,
        found,
    };
    match context.serve(Box::new(request), &mut invocation).await {
        Ok(response) => response,
        Err(error) => {
            if let Some(mut invocation) = invocation.take() {
                invocation.fail(&error);
            }
            error.into_response()
        }
    }
}

/// The first segment of the path.
fn slug_in(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

async fn find(
    service: &FunctionsService,
    project: &Project,
    config: &FunctionsConfig,
    method: &Method,
    slug: &str,
) -> Result<FoundFunction, FunctionError> {
    if !config.is_enabled || !catalog::is_valid_slug(slug) {
        return Err(FunctionError::NotFound);
    }
    let found = service.find(project, slug).await?;
    let found = found.ok_or(FunctionError::NotFound)?;
    if ALLOWED_METHODS.contains(method) {
        Ok(found)
    } else {
        Err(FunctionError::MethodNotAllowed)
    }
}

/// What one request carries through the service.
struct RequestContext {
    service: FunctionsService,
    project: Project,
    config: Arc<FunctionsConfig>,
    found: FoundFunction,
    /// The address that the request came in on.
    local_address: Option<LocalAddress>,
}

impl RequestContext {
    async fn serve(
        &self,
        mut request: Box<Request>,
        invocation: &mut Option<Invocation>,
    ) -> Result<Response, FunctionError> {
        self.verify(&self.found.function, &request)?;
        let body_limit = self.limit_body(&request)?;
        let mut found = self.found.clone();
        let client = websocket::take_client_upgrade(&mut request);
        headers::prepare(&mut request, client.is_some());
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                // The worker may have retired for a new version.
                found = self.find_again().await?;
                self.verify(&found.function, &request)?;
            }
            let generation = self.service.generation(&self.project, &found).await?;
            if self.service.is_outdated(&found) && attempt + 1 < MAX_ATTEMPTS {
                // The function may have been removed meanwhile.
                continue;
            }
            let permit = self.acquire_worker(&generation).await?;
            let serving = &permit.worker().function;
            if !Arc::ptr_eq(serving, &found.function) {
                // Another version serves, which may require a token where this one does not.
                self.verify(serving, &request)?;
            }
            // The wait for a worker does not count against the function's time.
            let deadlines = Deadlines::new(&self.config.limits, body_limit.clone());
            if let Some(invocation) = invocation {
                invocation.assign(&permit);
            }
            match self.exchange(&permit, request, &deadlines).await {
                Ok((response, connection)) => {
                    permit.worker().note_response();
                    let exchanged = Exchanged {
                        response,
                        connection,
                        permit,
                        client,
                        invocation: invocation.take(),
                    };
                    let (limits, began) = (&self.config.limits, deadlines.began);
                    return exchanged.into_response(&self.service, limits, began);
                }
                // Not a byte was sent: the worker has exited, or is about to.
                Err(ExchangeError::NotSent(unsent)) => {
                    request = unsent;
                    permit.worker().retire(ShutdownReason::Termination);
                }
                Err(ExchangeError::Failed(error)) => return Err(error),
            }
        }
        Err(FunctionError::Unreachable)
    }

    async fn find_again(&self) -> Result<FoundFunction, FunctionError> {
        let slug = &self.found.function.slug;
        let found = self.service.find(&self.project, slug).await?;
        found.ok_or(FunctionError::NotFound)
    }

    /// Waits for a worker of the generation, or of another one that serves instead.
    async fn acquire_worker(
        &self,
        generation: &Generation,
    ) -> Result<RequestPermit, FunctionError> {
        let pool = self.service.pool(&self.project, generation);
        let factory = self.service.worker_factory(&self.project);
        let queued = Instant::now();
        let is_nested = self.is_nested(generation);
        let admitted = pool.admit(&factory, generation, is_nested).await;
        let metrics = &generation.function.metrics;
        metrics.waited_in_queue(queued.elapsed());
        admitted
    }

    /// Whether the caller is a request that occupies a worker alone until this one has a response.
    fn is_nested(&self, generation: &Generation) -> bool {
        let is_internal = |LocalAddress(address)| self.service.is_internal_address(address.ip());
        generation.config.policy != Policy::PerWorker && self.local_address.is_some_and(is_internal)
    }

    /// Rejects requests without a valid credential, where the function requires one.
    fn verify(&self, function: &Function, request: &Request) -> Result<(), FunctionError> {
        if !function.verify_jwt || request.method() == Method::OPTIONS {
            return Ok(());
        }
        let verified = verify(&self.project, request.headers(), unix_now());
        verified.map_err(|cause| FunctionError::Unauthorized {
            cause,
            is_relay_error: self.config.marks_unauthorized,
        })
    }

    /// Rejects a body whose declared length is too large; others are counted while they are read.
    fn limit_body(&self, request: &Request) -> Result<Option<BodyLimit>, FunctionError> {
        let max_bytes = self.config.max_body_bytes;
        let length = request.headers().get(CONTENT_LENGTH);
        let length: Option<u64> = length.and_then(|text| text.to_str().ok()?.parse().ok());
        if length.is_some_and(|length| length > max_bytes) {
            return Err(FunctionError::BodyTooLarge { max_bytes });
        }
        let limit = request.extensions().get::<BodyLimit>().cloned();
        if let Some(limit) = &limit {
            limit.set(max_bytes);
        }
        Ok(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_of_the_path_names_the_function() {
        for (path, expected) in [
            ("/hello", "hello"),
            ("/hello/", "hello"),
            ("/hello/a/b", "hello"),
            ("/", ""),
            ("", ""),
            ("//hello", ""),
            ("/a%2Fb", "a%2Fb"),
        ] {
            assert_eq!(slug_in(path), expected, "{path}");
        }
    }
}
