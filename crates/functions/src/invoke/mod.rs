//! A request on its way to a worker, and the answer on its way back (functions contract §1–§5).

mod answer;
mod body;
mod invocation;
mod message;
mod tunnel;

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, header::CONTENT_LENGTH};
use hyper::body::Incoming;
use plinth_project::{BodyLimit, LocalAddress, Project};

use crate::{
    catalog::{self, Function},
    clock::unix_now,
    config::{FunctionsConfig, Limits, Policy},
    error::FunctionError,
    pool::{Generation, Starter},
    service::{Found, FunctionsService},
    verify::verify,
    worker::{Ending, Line, Reason, Seat, Unsent},
};
use invocation::Invocation;

/// How many workers a request may be refused by before it is given up.
const ATTEMPTS: usize = 5;
/// How long is waited for the news of a worker's end after its connection broke.
const NEWS: std::time::Duration = std::time::Duration::from_secs(2);

/// Everything below `/functions/v1`.
pub(crate) async fn invoke(
    State(service): State<FunctionsService>,
    project: Project,
    request: Request,
) -> Response {
    let slug = slug_of(request.uri().path()).to_owned();
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
    let call = Call {
        came_to: request.extensions().get::<LocalAddress>().copied(),
        service,
        project,
        config,
        found,
    };
    match call.serve(Box::new(request), &mut invocation).await {
        Ok(response) => response,
        Err(error) => {
            if let Some(mut invocation) = invocation.take() {
                invocation.fail(&error);
            }
            error.into_response()
        }
    }
}

/// The first part of the path.
fn slug_of(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

async fn find(
    service: &FunctionsService,
    project: &Project,
    config: &FunctionsConfig,
    method: &Method,
    slug: &str,
) -> Result<Found, FunctionError> {
    if !config.is_enabled || !catalog::is_name(slug) {
        return Err(FunctionError::NotFound);
    }
    let found = service.find(project, slug).await?;
    let found = found.ok_or(FunctionError::NotFound)?;
    let methods = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    match methods.contains(method) {
        true => Ok(found),
        false => Err(FunctionError::MethodNotAllowed),
    }
}

/// What one call is about.
struct Call {
    service: FunctionsService,
    project: Project,
    config: Arc<FunctionsConfig>,
    found: Found,
    came_to: Option<LocalAddress>,
}

/// A call's times.
struct Times<'a> {
    limits: &'a Limits,
    began: Instant,
    body: Option<BodyLimit>,
}

impl Call {
    /// Whether a worker calls that nobody else can enter while it waits for the answer.
    fn is_nested(&self, generation: &Generation) -> bool {
        let came_from_inside = |LocalAddress(address)| self.service.is_inner_door(address.ip());
        generation.config.policy != Policy::PerWorker && self.came_to.is_some_and(came_from_inside)
    }

    async fn serve(
        &self,
        mut request: Box<Request>,
        invocation: &mut Option<Invocation>,
    ) -> Result<Response, FunctionError> {
        self.verify(&self.found.function, request.method(), request.headers())?;
        let body = self.limit_body(&request)?;
        let mut found = self.found.clone();
        let starter = Starter {
            service: self.service.clone(),
            project: self.project.clone(),
        };
        let client = tunnel::client_side(&mut request);
        message::prepare(&mut request, client.is_some());
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                // It went for somebody newer, perhaps.
                let slug = &self.found.function.slug;
                let again = self.service.find(&self.project, slug).await?;
                found = again.ok_or(FunctionError::NotFound)?;
                self.verify(&found.function, request.method(), request.headers())?;
            }
            let generation = self.service.generation(&self.project, &found).await?;
            if self.service.is_outdated(&found) && attempt + 1 < ATTEMPTS {
                // It may be there no more.
                continue;
            }
            let pool = self.service.pool(&self.project, &generation);
            let asked = Instant::now();
            let is_nested = self.is_nested(&generation);
            let admitted = pool.admit(&starter, &generation, is_nested).await;
            found.function.numbers.waited(asked.elapsed());
            let seat = admitted?;
            let serves = &seat.worker().function;
            if !Arc::ptr_eq(serves, &found.function) {
                // The version before, or one that came meanwhile: what it relies on holds for it.
                self.verify(serves, request.method(), request.headers())?;
            }
            // The wait for a worker is not the function's time.
            let times = Times {
                limits: &self.config.limits,
                began: Instant::now(),
                body: body.clone(),
            };
            if let Some(invocation) = invocation {
                invocation.seated(&seat);
            }
            match self.exchange(&seat, request, &times).await {
                Ok((response, line)) => {
                    seat.worker().note_answer();
                    let exchanged = answer::Exchanged {
                        response,
                        line,
                        seat,
                        client,
                        invocation: invocation.take(),
                    };
                    return exchanged.answer(&self.service, times.limits, times.began);
                }
                // Not a byte was sent: the worker has gone, or is about to.
                Err(Failed::Unsent(unsent)) => {
                    request = unsent;
                    seat.worker().retire(Reason::Termination);
                }
                Err(Failed::For(error)) => return Err(error),
            }
        }
        Err(FunctionError::Unreachable)
    }

    /// Refuses whoever shows no good token, where the function wants one.
    fn verify(
        &self,
        function: &Function,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), FunctionError> {
        if !function.verify_jwt || method == Method::OPTIONS {
            return Ok(());
        }
        verify(&self.project, headers, unix_now()).map_err(|refusal| FunctionError::Refused {
            refusal,
            is_marked: self.config.marks_refusals,
        })
    }

    /// Refuses what says that it is too large; the rest is counted on its way.
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

    /// Sends the request and waits for the head of the answer, within the limits.
    async fn exchange(
        &self,
        seat: &Seat,
        request: Box<Request>,
        times: &Times<'_>,
    ) -> Result<(http::Response<Incoming>, Line), Failed> {
        let mut sending = std::pin::pin!(seat.send(request));
        loop {
            let deadline = times.deadline();
            tokio::select! {
                biased;
                sent = &mut sending => return match sent {
                    Ok(sent) => Ok(sent),
                    Err(Unsent::Whole(request)) => Err(Failed::Unsent(request)),
                    Err(Unsent::NoWay(cause)) => {
                        let slug = &self.found.function.slug;
                        tracing::warn!("there is no way to a worker of {slug}: {cause}");
                        Err(Failed::For(FunctionError::Unreachable))
                    }
                    Err(Unsent::Broken(cause)) => {
                        // Boxed, because few calls need its room and all would carry it.
                        let error = Box::pin(self.why(seat, times, &cause)).await;
                        Err(Failed::For(error))
                    }
                },
                () = tokio::time::sleep_until(deadline.into()) => {
                    // A piece of the body may have come meanwhile.
                    if times.deadline() > Instant::now() {
                        continue;
                    }
                    return Err(Failed::For(times.give_up(seat)));
                }
            }
        }
    }

    /// Why a connection broke before anything was answered.
    async fn why(&self, seat: &Seat, times: &Times<'_>, cause: &hyper::Error) -> FunctionError {
        let max_bytes = self.config.max_body_bytes;
        if times.body.as_ref().is_some_and(BodyLimit::is_exceeded) {
            return FunctionError::BodyTooLarge { max_bytes };
        }
        match tokio::time::timeout(NEWS, seat.worker().ended()).await {
            Ok(Ending::Limit(_)) => FunctionError::ResourceLimit,
            Ok(Ending::Crashed { .. } | Ending::Left) => FunctionError::WorkerDied,
            Err(_) => {
                let slug = &self.found.function.slug;
                tracing::warn!("the connection to a worker of {slug} broke: {cause}");
                FunctionError::Unreachable
            }
        }
    }
}

enum Failed {
    Unsent(Box<Request>),
    For(FunctionError),
}

impl Times<'_> {
    /// Until when the head of the answer must have come, as of now.
    fn deadline(&self) -> Instant {
        let heard = self
            .body
            .as_ref()
            .map_or(self.began, BodyLimit::last_activity);
        let idle = heard.max(self.began) + self.limits.request_idle;
        idle.min(self.began + self.limits.wall_clock)
    }

    /// Time is up, for whichever reason comes first.
    fn give_up(&self, seat: &Seat) -> FunctionError {
        if self.began.elapsed() >= self.limits.wall_clock {
            // Whatever it is busy with may never end. Others are not to blame for it.
            seat.worker().retire(Reason::WallClock);
            return FunctionError::ResourceLimit;
        }
        FunctionError::IdleTimeout {
            limit: self.limits.request_idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_of_the_path_names_the_function() {
        for (path, expected) in [
            ("/hello", "hello"),
            ("/hello/", "hello"),
            ("/hello/a/b", "hello"),
            ("/", ""),
            ("", ""),
            ("//hello", ""),
            ("/a%2Fb", "a%2Fb"),
        ] {
            assert_eq!(slug_of(path), expected, "{path}");
        }
    }
}
