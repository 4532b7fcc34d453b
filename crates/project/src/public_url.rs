//! Where the outside world finds the project that a request is for.

use std::{fmt, sync::Arc};

/// The externally visible base URL, without a slash at its end; an extension of every request.
///
/// A service's own address is this followed by its mount: `<public url>/storage/v1`. Requests to
/// the instance itself have the instance's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(Arc<str>);

impl PublicUrl {
    /// From a text as it stands in settings; slashes at its end are dropped.
    pub fn new(text: &str) -> Self {
        Self(text.trim_end_matches('/').into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL of a path below it; the path begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_appended() {
        assert_eq!(
            PublicUrl::new("http://a/").join("/auth/v1"),
            "http://a/auth/v1"
        );
    }
}
