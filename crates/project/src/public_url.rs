//! The public URL of a request's project.

use std::{fmt, sync::Arc};

/// The externally visible base URL, without a slash at its end; an extension of every request.
///
/// A service's own address is this followed by its mount: `<public url>/storage/v1`. Requests to
/// the instance itself have the instance's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    text: Arc<str>,
    is_configured: bool,
}

impl PublicUrl {
    /// A URL derived from the request; trailing slashes are removed.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.trim_end_matches('/').into(),
            is_configured: false,
        }
    }

    /// A URL from the settings.
    pub fn configured(text: &str) -> Self {
        Self {
            is_configured: true,
            ..Self::new(text)
        }
    }

    /// Whether it comes from the settings.
    pub fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL of a path below it; the path begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
