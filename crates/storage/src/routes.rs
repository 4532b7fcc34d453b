//! One handler for everything: `request::Route` decides what a path means.

use axum::Router;
use http::Method;

use crate::{
    dispatch::{serve, serve_s3},
    request::Route,
    service::StorageService,
};

/// The routes of the service, at `/`. One value serves all projects.
pub fn routes(service: StorageService) -> Router {
    Router::new().fallback(serve).with_state(service)
}

/// The S3 protocol alone, at `/`: for clients whose endpoint can have no path.
pub fn s3_routes(service: StorageService) -> Router {
    Router::new().fallback(serve_s3).with_state(service)
}

/// Whether a request needs no API key: public objects, signed URLs, S3 with its own signatures. The path
/// is the one below the service\'s prefix.
pub fn is_open_route(method: &Method, path: &str) -> bool {
    // What is no route gets its error from the service.
    Route::parse(method, path).map_or(true, |route| route.is_open(method))
}

/// Whether a request may have no API key, because the object may be public. A wrong key is an error.
pub fn is_optional_key_route(method: &Method, path: &str) -> bool {
    Route::parse(method, path).is_ok_and(|route| route.may_be_public())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_and_signed_objects_need_no_key() {
        for path in [
            "/object/public/b/k",
            "/object/info/public/b/k",
            "/object/sign/b/k",
            "/render/image/public/b/k",
            "/render/image/sign/b/k",
            "/s3/b/k",
            "/status",
            "/version",
            "/nonsense",
        ] {
            assert!(is_open_route(&Method::GET, path), "{path}");
        }
        assert!(is_open_route(&Method::PUT, "/object/upload/sign/b/k"));
        assert!(is_open_route(&Method::POST, "/upload/resumable/sign"));
        assert!(is_open_route(&Method::PATCH, "/upload/resumable/sign/id"));
        assert!(is_open_route(&Method::OPTIONS, "/upload/resumable"));
    }

    #[test]
    fn what_policies_decide_needs_a_key() {
        for (method, path) in [
            (Method::GET, "/bucket"),
            (Method::GET, "/health"),
            (Method::GET, "/object/authenticated/b/k"),
            (Method::GET, "/object/info/authenticated/b/k"),
            (Method::GET, "/render/image/authenticated/b/k"),
            (Method::POST, "/object/sign/b/k"),
            (Method::POST, "/object/upload/sign/b/k"),
            (Method::POST, "/object/list/b"),
            (Method::POST, "/object/b/k"),
            (Method::DELETE, "/object/b/k"),
            (Method::POST, "/upload/resumable"),
            (Method::PATCH, "/upload/resumable/id"),
        ] {
            assert!(!is_open_route(&method, path), "{method} {path}");
            assert!(!is_optional_key_route(&method, path), "{method} {path}");
        }
        let may_be_public = "/object/b/k";
        assert!(!is_open_route(&Method::GET, may_be_public));
        assert!(is_optional_key_route(&Method::GET, may_be_public));
    }
}
