//! Sends a request to a worker and waits for the head of the response, within the limits.

use std::time::{Duration, Instant};

use axum::extract::Request;
use hyper::body::Incoming;
use plinth_project::BodyLimit;

use super::RequestContext;
use crate::{
    config::Limits,
    error::FunctionError,
    worker::{Connection, RequestPermit, SendError, ShutdownReason, WorkerExit},
};

/// How long to wait for the exit of a worker whose connection broke, to learn the reason.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Why there is no response.
pub(super) enum ExchangeError {
    /// Another worker may get the request.
    NotSent(Box<Request>),
    Failed(FunctionError),
}

/// When a request must have its response.
pub(super) struct Deadlines<'a> {
    limits: &'a Limits,
    pub(super) began: Instant,
    body: Option<BodyLimit>,
}

impl RequestContext {
    pub(super) async fn exchange(
        &self,
        permit: &RequestPermit,
        request: Box<Request>,
        deadlines: &Deadlines<'_>,
    ) -> Result<(http::Response<Incoming>, Connection), ExchangeError> {
        let mut sending = std::pin::pin!(permit.send(request));
        loop {
            let deadline = deadlines.current();
            tokio::select! {
                biased;
                sent = &mut sending => return match sent {
                    Ok(sent) => Ok(sent),
                    Err(error) => Err(self.send_failed(permit, deadlines, error).await),
                },
                () = tokio::time::sleep_until(deadline.into()) => {
                    // A chunk of the body may have come meanwhile.
                    if deadlines.current() > Instant::now() {
                        continue;
                    }
                    return Err(ExchangeError::Failed(deadlines.time_out(permit)));
                }
            }
        }
    }

    async fn send_failed(
        &self,
        permit: &RequestPermit,
        deadlines: &Deadlines<'_>,
        error: SendError,
    ) -> ExchangeError {
        match error {
            SendError::NotSent(request) => ExchangeError::NotSent(request),
            SendError::ConnectFailed(cause) => {
                let slug = &self.found.function.slug;
                tracing::warn!("cannot connect to a worker of function {slug}: {cause}");
                ExchangeError::Failed(FunctionError::Unreachable)
            }
            SendError::Broken(cause) => {
                // Boxed, because few requests need its memory and all would carry it.
                let error = Box::pin(self.connection_broke(permit, deadlines, &cause)).await;
                ExchangeError::Failed(error)
            }
        }
    }

    /// Why a connection broke before the response began.
    async fn connection_broke(
        &self,
        permit: &RequestPermit,
        deadlines: &Deadlines<'_>,
        cause: &hyper::Error,
    ) -> FunctionError {
        let max_bytes = self.config.max_body_bytes;
        if deadlines.body.as_ref().is_some_and(BodyLimit::is_exceeded) {
            return FunctionError::BodyTooLarge { max_bytes };
        }
        match tokio::time::timeout(EXIT_TIMEOUT, permit.worker().exited()).await {
            Ok(WorkerExit::LimitExceeded(_)) => FunctionError::ResourceLimit,
            Ok(WorkerExit::Crashed { .. } | WorkerExit::Requested) => FunctionError::WorkerDied,
            Err(_) => {
                let slug = &self.found.function.slug;
                tracing::warn!("the connection to a worker of function {slug} broke: {cause}");
                FunctionError::Unreachable
            }
        }
    }
}

impl<'a> Deadlines<'a> {
    /// Of a request that begins now.
    pub(super) fn new(limits: &'a Limits, body: Option<BodyLimit>) -> Self {
        Self {
            limits,
            began: Instant::now(),
            body,
        }
    }

    /// Until when the head of the response must have come, as of now: reading the request body extends
    /// the idle timeout.
    fn current(&self) -> Instant {
        let body = self.body.as_ref();
        let active = body.map_or(self.began, BodyLimit::last_activity);
        let idle = active.max(self.began) + self.limits.request_idle;
        idle.min(self.began + self.limits.wall_clock)
    }

    /// The error for the limit that is reached first.
    fn time_out(&self, permit: &RequestPermit) -> FunctionError {
        if self.began.elapsed() >= self.limits.wall_clock {
            // What the request does may never end. Others keep their time.
            permit.worker().retire(ShutdownReason::WallClock);
            return FunctionError::ResourceLimit;
        }
        FunctionError::IdleTimeout {
            limit: self.limits.request_idle,
        }
    }
}
