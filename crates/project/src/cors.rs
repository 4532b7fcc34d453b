//! CORS headers. Each contract has its own rules, so there is no middleware around all services; this
//! is the shared part.

use axum::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
        ORIGIN, VARY,
    },
};

/// A service's rules for requests from other origins.
///
/// ```
/// use plinth_project::Cors;
///
/// let cors = Cors::any()
///     .methods("GET, POST, PATCH, DELETE")
///     .expose("Content-Range, Location")
///     .max_age(86_400);
/// ```
#[derive(Debug, Clone)]
pub struct Cors {
    /// Empty: any.
    origins: Vec<String>,
    methods: &'static str,
    allow: &'static str,
    allow_if_requested: &'static str,
    expose: Option<&'static str>,
    max_age: Option<u32>,
}

impl Cors {
    /// Any origin, without credentials. Methods: all that clients use. Headers: those asked for.
    pub fn any() -> Self {
        Self {
            origins: Vec::new(),
            methods: "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
            allow: "",
            allow_if_requested: "",
            expose: None,
            max_age: None,
        }
    }

    /// Only these origins, with credentials. An empty list allows any, without credentials.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// The methods that a preflight allows.
    #[must_use]
    pub fn methods(mut self, methods: &'static str) -> Self {
        self.methods = methods;
        self
    }

    /// Request headers that are always allowed, in addition to requested ones.
    #[must_use]
    pub fn allow(mut self, headers: &'static str) -> Self {
        self.allow = headers;
        self
    }

    /// Request headers that are appended if the preflight requests any.
    #[must_use]
    pub fn allow_if_requested(mut self, headers: &'static str) -> Self {
        self.allow_if_requested = headers;
        self
    }

    /// Response headers that scripts may read.
    #[must_use]
    pub fn expose(mut self, headers: &'static str) -> Self {
        self.expose = Some(headers);
        self
    }

    /// How many seconds a browser may cache a preflight.
    #[must_use]
    pub fn max_age(mut self, seconds: u32) -> Self {
        self.max_age = Some(seconds);
        self
    }

    /// Whether the request is a preflight.
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// The response to a preflight: 200, empty.
    pub fn preflight(&self, request: &HeaderMap) -> Response {
        let mut response = StatusCode::OK.into_response();
        let headers = response.headers_mut();
        if !self.allow_origin(request, headers) {
            return response;
        }
        headers.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(self.methods),
        );
        if let Some(allowed) = self.allowed_headers(request) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        }
        if let Some(seconds) = self.max_age {
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(seconds));
        }
        response
    }

    /// Adds the headers to a response. Nothing is added if the request has no `Origin`.
    pub fn decorate(&self, request: &HeaderMap, response: &mut HeaderMap) {
        if self.allow_origin(request, response)
            && let Some(expose) = self.expose
        {
            response.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(expose),
            );
        }
    }

    fn allow_origin(&self, request: &HeaderMap, response: &mut HeaderMap) -> bool {
        if !self.origins.is_empty() {
            response.append(VARY, HeaderValue::from(HeaderName::from_static("origin")));
        }
        let Some(origin) = request.get(ORIGIN) else {
            return false;
        };
        if self.origins.is_empty() {
            response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            return true;
        }
        if !self
            .origins
            .iter()
            .any(|allowed| allowed.as_bytes() == origin.as_bytes())
        {
            return false;
        }
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.insert(
            ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        );
        true
    }

    fn allowed_headers(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let requested = request
            .get(ACCESS_CONTROL_REQUEST_HEADERS)
            .map_or("", |value| value.to_str().unwrap_or_default().trim());
        let more = if requested.is_empty() {
            ""
        } else {
            self.allow_if_requested
        };
        let names: Vec<_> = [self.allow, requested, more]
            .into_iter()
            .flat_map(|names| names.split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if names.is_empty() {
            return None;
        }
        HeaderValue::try_from(names.join(", ")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(origin: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_static(origin));
        headers
    }

    fn preflight_from(origin: &'static str) -> HeaderMap {
        let mut headers = from(origin);
        headers.insert(
            ACCESS_CONTROL_REQUEST_METHOD,
            HeaderValue::from_static("PATCH"),
        );
        let asked = HeaderValue::from_static("apikey, x-client-info");
        headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, asked);
        headers
    }

    #[test]
    fn a_preflight_echoes_the_headers_it_asks_for() {
        let cors = Cors::any()
            .methods("GET, PATCH")
            .allow("Authorization")
            .allow_if_requested("Accept")
            .max_age(60);
        let request = preflight_from("https://app.example");

        assert!(Cors::is_preflight(&Method::OPTIONS, &request));
        let response = cors.preflight(&request);

        let headers = response.headers();
        assert_eq!(response.status(), 200);
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_METHODS], "GET, PATCH");
        assert_eq!(
            headers[ACCESS_CONTROL_ALLOW_HEADERS],
            "Authorization, apikey, x-client-info, Accept"
        );
        assert_eq!(headers[ACCESS_CONTROL_MAX_AGE], "60");
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }

    #[test]
    fn only_options_with_origin_and_method_is_a_preflight() {
        let request = preflight_from("https://app.example");
        assert!(!Cors::is_preflight(&Method::GET, &request));
        assert!(!Cors::is_preflight(
            &Method::OPTIONS,
            &from("https://app.example")
        ));
    }

    #[test]
    fn a_response_exposes_its_headers_only_to_another_origin() {
        let cors = Cors::any().expose("Content-Range");
        let mut response = HeaderMap::new();
        cors.decorate(&from("https://app.example"), &mut response);
        assert_eq!(response[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(response[ACCESS_CONTROL_EXPOSE_HEADERS], "Content-Range");

        let mut response = HeaderMap::new();
        cors.decorate(&HeaderMap::new(), &mut response);
        assert!(response.is_empty());
    }

    #[test]
    fn listed_origins_are_echoed_with_credentials_and_others_get_nothing() {
        let cors = Cors::any().origins(["https://app.example"]).expose("ETag");
        let mut response = HeaderMap::new();
        cors.decorate(&from("https://app.example"), &mut response);
        assert_eq!(response[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
        assert_eq!(response[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        assert_eq!(response[VARY], "origin");

        let mut response = HeaderMap::new();
        cors.decorate(&from("https://evil.example"), &mut response);
        assert_eq!(response.len(), 1, "only Vary: {response:?}");
        let denied = cors.preflight(&preflight_from("https://evil.example"));
        assert!(!denied.headers().contains_key(ACCESS_CONTROL_ALLOW_METHODS));
    }
}
