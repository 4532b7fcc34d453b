//! Sending a query, and sending it again (client contract K13).

use std::time::Duration;

use futures_util::future::{Either, select};
use http::HeaderValue;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::Query;
use super::{Response, RestError};
use crate::http::{Answer, Http, Outgoing, TransportError};

/// K13: a read is sent again at most this often.
pub const MAX_RETRIES: u32 = 3;
/// K13: the first wait; each further one is twice as long.
pub const RETRY_WAIT_MS: u64 = 1000;
/// K13: no wait is longer. A server that asks for more is not asked again.
pub const MAX_WAIT_MS: u64 = 30_000;

impl Query {
    /// Sends the query. Rows come as JSON.
    pub async fn execute(self) -> Result<Response<Value>, RestError> {
        self.execute_as().await
    }

    /// Sends the query and reads the answer as this type: a list of rows, a row after
    /// [`Query::single`], an `Option` after [`Query::maybe_single`], a `String` after
    /// [`Query::csv`], `()` for changes without [`Query::returning`].
    pub async fn execute_as<T: DeserializeOwned>(mut self) -> Result<Response<T>, RestError> {
        let (cancel, form) = (self.cancel.take(), self.form.clone());
        let answer = match cancel {
            None => self.answer().await?,
            Some(cancel) => match select(Box::pin(self.answer()), cancel).await {
                Either::Left((answer, _)) => answer?,
                Either::Right(_) => return Err(RestError::local("the request was cancelled")),
            },
        };
        Response::read(&answer, &form)
    }

    /// Takes the query, which cannot be shared between threads, along.
    async fn answer(self) -> Result<Answer, RestError> {
        let http = self.http.as_ref().unwrap_or(&self.context.base.http);
        // A session that is being refreshed holds a query up no longer than its own request may.
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
) -> Result<Answer, TransportError> {
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

/// How long to wait before the next attempt; `None` if there is none. Who has waited as long as
/// they would is told so: the server, still at work, would only be given the same work again.
fn wait_before(retries: u32, result: &Result<Answer, TransportError>) -> Option<Duration> {
    if retries >= MAX_RETRIES {
        return None;
    }
    let asked = match result {
        Ok(answer) if matches!(answer.status, 503 | 520) => answer.retry_after(),
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

    fn answered(status: u16, retry_after: Option<&'static str>) -> Result<Answer, TransportError> {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = retry_after {
            headers.insert("retry-after", HeaderValue::from_static(seconds));
        }
        Ok(Answer {
            status,
            headers,
            body: Default::default(),
        })
    }

    #[test]
    fn k13_three_retries_wait_one_two_and_four_seconds() {
        assert_eq!((MAX_RETRIES, RETRY_WAIT_MS, MAX_WAIT_MS), (3, 1000, 30_000));
        for failure in [
            answered(503, None),
            answered(520, None),
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
        let wait = wait_before(0, &answered(503, Some("7")));

        assert_eq!(wait, Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_server_that_asks_for_more_than_thirty_seconds_is_not_asked_again() {
        let wait = |seconds| wait_before(0, &answered(503, Some(seconds)));

        assert_eq!(wait("30"), Some(Duration::from_secs(30)));
        assert_eq!(wait("31"), None);
        assert_eq!(wait("18446744073709551615"), None);
    }

    #[test]
    fn a_request_that_timed_out_is_not_sent_again() {
        assert_eq!(wait_before(0, &Err(TransportError::timed_out())), None);
    }

    #[test]
    fn other_answers_are_final() {
        for status in [200, 204, 400, 401, 404, 429, 500, 502, 504, 521] {
            assert_eq!(
                wait_before(0, &answered(status, Some("1"))),
                None,
                "{status}"
            );
        }
    }
}
