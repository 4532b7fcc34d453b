//! A remote server: sends a configured response and records requests.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::IntoResponse,
};
use http::{HeaderMap, Method, StatusCode};

use crate::Listener;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub method: Method,
    /// Including the query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The fields of a form, in their order.
    pub fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.body.as_bytes())
            .into_owned()
            .collect()
    }
}

/// A running server; it ends with the test.
pub struct Remote {
    pub url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    response: Arc<Mutex<(StatusCode, &'static str, String)>>,
    listener: Listener,
}

impl Remote {
    /// Responds to every request with this JSON.
    pub async fn start(status: u16, body: &str) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let status = StatusCode::from_u16(status).expect("a status");
        let response = Arc::new(Mutex::new((status, "application/json", body.to_owned())));
        let state = (received.clone(), response.clone());
        let router = Router::new().fallback(move |request: Request| {
            let (received, response) = state.clone();
            async move {
                let request = read(request).await;
                received.lock().expect("no panics").push(request);
                let (status, content_type, body) = response.lock().expect("no panics").clone();
                (status, [("content-type", content_type)], Body::from(body)).into_response()
            }
        });
        let listener = Listener::start(router).await;
        Self {
            url: listener.url(),
            received,
            response,
            listener,
        }
    }

    pub fn port(&self) -> u16 {
        self.listener.address().port()
    }

    /// Sets the response.
    pub fn set_response(&self, status: u16, content_type: &'static str, body: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        *self.response.lock().expect("no panics") = (status, content_type, body.to_owned());
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("no panics").clone()
    }
}

async fn read(request: Request) -> ReceivedRequest {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a whole body");
    ReceivedRequest {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).expect("UTF-8"),
    }
}
