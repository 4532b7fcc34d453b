//! One method per HTTP method.

use axum::Router;
use http::Method;
use serde_json::Value;

use crate::Call;

/// What has a router to send requests to.
pub trait Requests {
    fn router(&self) -> Router;

    fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router(), method, path)
    }

    fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    fn head(&self, path: &str) -> Call {
        self.call(Method::HEAD, path)
    }

    fn options(&self, path: &str) -> Call {
        self.call(Method::OPTIONS, path)
    }

    fn post(&self, path: &str, body: Value) -> Call {
        self.call(Method::POST, path).json(&body)
    }

    fn put(&self, path: &str, body: Value) -> Call {
        self.call(Method::PUT, path).json(&body)
    }

    fn patch(&self, path: &str, body: Value) -> Call {
        self.call(Method::PATCH, path).json(&body)
    }

    fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }
}
