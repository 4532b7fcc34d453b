//! A browser: it stores cookies and sends origin headers.

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{HeaderMap, Method, Request, StatusCode, header};
use plinth_session::cookie::{Changes, CookieOptions, Cookies, Encoding, Limits, Side};
use tower::ServiceExt as _;

use super::KEY;

/// A whole response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn set_cookies(&self) -> Vec<&str> {
        let all = self.headers.get_all(header::SET_COOKIE).iter();
        all.map(|value| value.to_str().unwrap()).collect()
    }

    /// Status and body, for short assertions.
    pub(crate) fn short(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body.as_str())
    }

    pub(crate) fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body["code"].as_str().unwrap().to_owned()
    }
}

#[derive(Clone)]
pub(crate) struct Browser {
    app: Router,
    cookies: Vec<(String, String)>,
    headers: Vec<(&'static str, String)>,
}

impl Browser {
    pub(crate) fn new(app: Router) -> Self {
        Self {
            app,
            cookies: Vec::new(),
            headers: vec![("sec-fetch-site", "same-origin".to_owned())],
        }
    }

    /// With a session in its cookies, as JavaScript would have written it.
    pub(crate) fn holding(mut self, session: &str) -> Self {
        self.set_item(KEY, session);
        self
    }

    /// Keeps a value under a key.
    pub(crate) fn set_item(&mut self, key: &str, item: &str) {
        let mut changes = Changes::default();
        changes.set(key, item);
        let options = CookieOptions::default();
        let writes = changes.plan(
            &Cookies::default(),
            &options,
            Encoding::Base64Url,
            Side::Browser,
        );
        for write in writes {
            self.set(&write.name, &write.wire_value());
        }
    }

    /// Sets one cookie as it is.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.cookies.retain(|(known, _)| known != name);
        self.cookies.push((name.to_owned(), value.to_owned()));
    }

    /// Sends this header with every request; without a value not any more.
    pub(crate) fn with(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers
            .extend(value.map(|value| (name, value.to_owned())));
        self
    }

    pub(crate) fn cookie_names(&self) -> Vec<&str> {
        self.cookies.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn cookie_header(&self) -> String {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    /// The value under a key.
    pub(crate) fn item(&self, key: &str) -> Option<String> {
        Cookies::parse(&self.cookie_header()).item(key, &Limits::default())
    }

    /// The session's refresh token.
    pub(crate) fn refresh_token(&self) -> Option<String> {
        let session: serde_json::Value = serde_json::from_str(&self.item(KEY)?).unwrap();
        Some(session["refresh_token"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Reply {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn send(&mut self, method: Method, path: &str, body: &str) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if !self.cookies.is_empty() {
            request = request.header(header::COOKIE, self.cookie_header());
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let reply = Reply {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        };
        self.store_cookies(&reply);
        reply
    }

    fn store_cookies(&mut self, reply: &Reply) {
        for cookie in reply.set_cookies() {
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.contains("Max-Age=0") {
                self.cookies.retain(|(known, _)| known != name);
            } else {
                self.set(name, value);
            }
        }
    }
}
