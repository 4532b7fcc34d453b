//! Request headers as the client sent them.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers that the edge replaces by values of its own, as they arrived; an extension of
/// requests that had any.
///
/// Signatures cover them as they were sent. Nothing else may be read from here: a client can write
/// whatever it likes into these.
#[derive(Debug, Clone, Default)]
pub struct SentHeaders(HeaderMap);

impl SentHeaders {
    /// Those headers of the request that are replaced. `None` if it has none of them.
    pub fn save(headers: &HeaderMap, is_replaced: impl Fn(&HeaderName) -> bool) -> Option<Self> {
        let mut saved = HeaderMap::new();
        for (name, value) in headers {
            if is_replaced(name) {
                saved.append(name, value.clone());
            }
        }
        (!saved.is_empty()).then_some(Self(saved))
    }

    /// The values of a header that was replaced; empty if the client sent none that was.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &HeaderValue> {
        self.0.get_all(name).iter()
    }

    /// Whether the client sent a header of that name that was replaced.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}
