//! Sending a query, with retries (client contract K13).

use std::time::Duration;

use futures_util::future::{Either, select};
use http::HeaderValue;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::Query;
use super::{Response, RestError};
use crate::http::{Http, HttpResponse, Outgoing, TransportError};

/// K13: maximum number of retries of a read.
pub const MAX_RETRIES: u32 = 3;
/// K13: the first backoff; each further one is twice as long.
pub const RETRY_WAIT_MS: u64 = 1000;
/// K13: maximum backoff. If the server asks for more, the request is not retried.
pub const MAX_WAIT_MS: u64 = 30_000;

impl Query {
    /// Sends the query. Rows come as JSON.
    pub async fn execute(self) -> Result<Response<Value>, RestError> {
        self.execute_as().await
    }

    /// Sends the query and deserializes the result as this type: a list of rows, a row after [`Query::single`], an
    /// `Option` after [`Query::maybe_single`], a `String` after [`Query::csv`], `()` for changes without
    /// [`Query::returning`].
    pub async fn execute_as<T: DeserializeOwned>(mut self) -> Result<Response<T>, RestError> {
        let (cancel, form) = (self.cancel.take(), self.form.clone());
        let response = match cancel {
            None => self.response().await?,
            Some(cancel) => match select(Box::pin(self.response()), cancel).await {
                Either::Left((response, _)) => response?,
                Either::Right(_) => return Err(RestError::local("the request was cancelled")),
            },
        };
        Response::read(&response, &form)
    }

    /// Consumes the query, which is not `Sync`.
    async fn response(self) -> Result<HttpResponse, RestError> {
        let http = self.http.as_ref().unwrap_or(&self.context.base.http);
        // Waiting for a session refresh counts towards the query's timeout.
        let token = self.context.tokens.token();
        let token = http.within(self.effective_timeout(), token).await??;
        let request = self.request(token.as_deref())?;
        let may_retry = self.retry && self.is_read();
        Ok(send(http, request, may_retry).await?)
    }
}

async fn send(
    http: &Http,
    mut request: Outgoing,
    may_retry: bool,
) -> Result<HttpResponse, TransportError> {
    let mut retries = 0;
    loop {
        let result = http.send(request.clone()).await;
        let Some(wait) = wait_before(retries, &result).filter(|_| may_retry) else {
            return result;
        };
        http.clock().sleep(wait).await;
        retries += 1;
        request
            .headers
            .insert("x-retry-count", HeaderValue::from(retries));
    }
}

/// The backoff before the next attempt; `None` if there is none. A timeout is final: the server, still busy, would
/// only get the same work again.
fn wait_before(retries: u32, result: &Result<HttpResponse, TransportError>) -> Option<Duration> {
    if retries >= MAX_RETRIES {
        return None;
    }
    let asked = match result {
        Ok(response) if matches!(response.status, 503 | 520) => response.retry_after(),
        Ok(_) => return None,
        Err(error) if error.is_timeout() => return None,
        Err(_) => None,
    };
    let longest = Duration::from_millis(MAX_WAIT_MS);
    let backoff = RETRY_WAIT_MS.saturating_mul(2_u64.saturating_pow(retries));
    let backoff = Duration::from_millis(backoff).min(longest);
    asked.or(Some(backoff)).filter(|wait| *wait <= longest)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn responded(
        status: u16,
        retry_after: Option<&'static str>,
    ) -> Result<HttpResponse, TransportError> {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = retry_after {
            headers.insert("retry-after", HeaderValue::from_static(seconds));
        }
        Ok(HttpResponse {
            status,
            headers,
            body: Default::default(),
        })
    }

    #[test]
    fn k13_three_retries_wait_one_two_and_four_seconds() {
        assert_eq!((MAX_RETRIES, RETRY_WAIT_MS, MAX_WAIT_MS), (3, 1000, 30_000));
        for failure in [
            responded(503, None),
            responded(520, None),
            Err(TransportError::new("")),
        ] {
            let waits: Vec<u64> = (0..)
                .map_while(|retries| wait_before(retries, &failure))
                .map(|wait| wait.as_secs())
                .collect();
            assert_eq!(waits, [1, 2, 4]);
        }
    }

    #[test]
    fn the_server_may_ask_for_another_wait() {
        let wait = wait_before(0, &responded(503, Some("7")));

        assert_eq!(wait, Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_server_that_asks_for_more_than_thirty_seconds_is_not_asked_again() {
        let wait = |seconds| wait_before(0, &responded(503, Some(seconds)));

        assert_eq!(wait("30"), Some(Duration::from_secs(30)));
        assert_eq!(wait("31"), None);
        assert_eq!(wait("18446744073709551615"), None);
    }

    #[test]
    fn a_request_that_timed_out_is_not_sent_again() {
        assert_eq!(wait_before(0, &Err(TransportError::timed_out())), None);
    }

    #[test]
    fn other_responses_are_final() {
        for status in [200, 204, 400, 401, 404, 429, 500, 502, 504, 521] {
            assert_eq!(
                wait_before(0, &responded(status, Some("1"))),
                None,
                "{status}"
            );
        }
    }
}
