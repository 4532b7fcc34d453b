//! A scripted server that records requests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use plinth_client::{Clock, ManualClock};
use serde_json::Value;
use tokio::sync::Semaphore;
use tower::Service;

/// A server in this process. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server {
    clock: ManualClock,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    replies: HashMap<String, VecDeque<Reply>>,
    asked: Vec<Recorded>,
}

/// One response.
#[derive(Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    /// The connection breaks instead.
    is_broken: bool,
    /// Waits until the test opens it.
    gate: Option<Arc<Semaphore>>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// `POST /auth/v1/token`.
    pub(crate) route: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) at_ms: i64,
}

impl Recorded {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("text"))
    }
}

impl Reply {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self::text(status, &body.to_string())
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_owned(),
            is_broken: false,
            gate: None,
        }
    }

    pub(crate) fn broken() -> Self {
        Self {
            is_broken: true,
            ..Self::text(0, "")
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Waits for a permit before it responds.
    pub(crate) fn behind(mut self, gate: &Arc<Semaphore>) -> Self {
        self.gate = Some(gate.clone());
        self
    }
}

impl Server {
    pub(crate) fn new(clock: ManualClock) -> Self {
        Self {
            clock,
            state: Arc::default(),
        }
    }

    /// The responses of a route (`POST /auth/v1/token`) from now on, one after the other; the last
    /// response repeats.
    pub(crate) fn on(&self, route: &str, replies: impl IntoIterator<Item = Reply>) {
        let replies = replies.into_iter().collect();
        self.state().replies.insert(route.to_owned(), replies);
    }

    pub(crate) fn asked(&self) -> Vec<Recorded> {
        self.state().asked.clone()
    }

    /// What was asked, in short.
    pub(crate) fn routes(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.route).collect()
    }

    pub(crate) fn last(&self) -> Recorded {
        self.asked().pop().expect("a request")
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }

    async fn respond(self, request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, String> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let route = format!("{} {}", parts.method, parts.uri.path());
        let reply = {
            let mut state = self.state();
            state.asked.push(Recorded {
                route: route.clone(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                headers: parts.headers,
                body: String::from_utf8(body.to_vec()).expect("text"),
                at_ms: self.clock.now_ms(),
            });
            let replies = state.replies.get_mut(&route);
            let replies = replies.unwrap_or_else(|| panic!("no test expects {route}"));
            match replies.len() {
                1 => replies[0].clone(),
                _ => replies.pop_front().expect("a response"),
            }
        };
        if let Some(gate) = &reply.gate {
            gate.acquire().await.expect("an open gate").forget();
        }
        if reply.is_broken {
            return Err("connection reset".to_owned());
        }
        let mut response = Response::builder().status(reply.status);
        for (name, value) in &reply.headers {
            response = response.header(*name, value);
        }
        Ok(response.body(Full::from(reply.body)).expect("a response"))
    }
}

impl Service<Request<Full<Bytes>>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = String;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        Box::pin(self.clone().respond(request))
    }
}
