//! What every single request may be given: a time limit, and headers of its own (client contract
//! R1).

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

/// A time limit and headers for one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: HeaderMap,
    /// A header could not be sent as given; reported when the request is sent.
    pub(crate) is_unsendable: bool,
}

impl CallOptions {
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => _ = self.headers.insert(name, value),
            _ => self.is_unsendable = true,
        }
    }
}

/// Gives a builder with a field `options` the methods `timeout` and `header`.
macro_rules! with_call_options {
    ($($builder:ty),* $(,)?) => {$(
        impl $builder {
            /// Gives up after this long.
            pub fn timeout(mut self, limit: std::time::Duration) -> Self {
                self.options.timeout = Some(limit);
                self
            }

            /// Sends a header along, replacing what would be sent under this name.
            pub fn header(mut self, name: &str, value: &str) -> Self {
                self.options.set_header(name, value);
                self
            }
        }
    )*};
}

/// Gives a handle with a method `with_options` the methods `timeout` and `header`.
macro_rules! with_handle_options {
    ($($handle:ty),* $(,)?) => {$(
        impl $handle {
            /// The same, whose requests give up after this long.
            pub fn timeout(&self, limit: std::time::Duration) -> Self {
                let mut options = crate::call_options::CallOptions::default();
                options.timeout = Some(limit);
                self.with_options(&options)
            }

            /// The same, whose requests carry this header, replacing what would be sent under
            /// this name.
            pub fn header(&self, name: &str, value: &str) -> Self {
                let mut options = crate::call_options::CallOptions::default();
                options.set_header(name, value);
                self.with_options(&options)
            }
        }
    )*};
}

pub(crate) use {with_call_options, with_handle_options};
