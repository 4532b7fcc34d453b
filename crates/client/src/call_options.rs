//! Options of every request: a timeout and additional headers (client contract R1).

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

/// A time limit and headers for one request.
#[derive(Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: HeaderMap,
    /// A header was invalid; reported when the request is sent.
    pub(crate) is_unsendable: bool,
}

/// Header names only: values may be credentials.
impl fmt::Debug for CallOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&HeaderName> = self.headers.keys().collect();
        formatter
            .debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl CallOptions {
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => _ = self.headers.insert(name, value),
            _ => self.is_unsendable = true,
        }
    }
}

/// Adds the methods `timeout` and `header` to a builder with a field `options`.
macro_rules! with_call_options {
    ($($builder:ty),* $(,)?) => {$(
        impl $builder {
            /// Sets the timeout.
            pub fn timeout(mut self, limit: std::time::Duration) -> Self {
                self.options.timeout = Some(limit);
                self
            }

            /// Sets a header, replacing the default of this name.
            pub fn header(mut self, name: &str, value: &str) -> Self {
                self.options.set_header(name, value);
                self
            }
        }
    )*};
}

/// Adds the methods `timeout` and `header` to a handle with a method `with_options`.
macro_rules! with_handle_options {
    ($($handle:ty),* $(,)?) => {$(
        impl $handle {
            /// The same handle with a timeout for its requests.
            pub fn timeout(&self, limit: std::time::Duration) -> Self {
                let mut options = crate::call_options::CallOptions::default();
                options.timeout = Some(limit);
                self.with_options(&options)
            }

            /// The same handle with a header for its requests, replacing the default of this name.
            pub fn header(&self, name: &str, value: &str) -> Self {
                let mut options = crate::call_options::CallOptions::default();
                options.set_header(name, value);
                self.with_options(&options)
            }
        }
    )*};
}

pub(crate) use {with_call_options, with_handle_options};
