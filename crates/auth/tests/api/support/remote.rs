//! A service elsewhere that answers as it is told, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::IntoResponse,
};
use http::{HeaderMap, Method, StatusCode};
use tokio::{net::TcpListener, task::JoinHandle};

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The fields of a form, in their order.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.body.as_bytes())
            .into_owned()
            .collect()
    }
}

/// A running service; it ends with the test.
pub(crate) struct Remote {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Mutex<(StatusCode, &'static str, String)>>,
    task: JoinHandle<()>,
}

impl Remote {
    /// Answers everything with this JSON.
    pub(crate) async fn start(status: u16, answer: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let status = StatusCode::from_u16(status).expect("a status");
        let answer = Arc::new(Mutex::new((status, "application/json", answer.to_owned())));
        let state = (asked.clone(), answer.clone());
        let router = Router::new().fallback(move |request: Request| {
            let (asked, answer) = state.clone();
            async move {
                let request = read(request).await;
                asked.lock().expect("no panics").push(request);
                let (status, content_type, body) = answer.lock().expect("no panics").clone();
                (status, [("content-type", content_type)], Body::from(body)).into_response()
            }
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            url,
            asked,
            answer,
            task,
        }
    }

    /// What it answers from now on.
    pub(crate) fn answer(&self, status: u16, content_type: &'static str, body: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        *self.answer.lock().expect("no panics") = (status, content_type, body.to_owned());
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panics").clone()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(request: Request) -> Asked {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a whole body");
    Asked {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).expect("UTF-8"),
    }
}
