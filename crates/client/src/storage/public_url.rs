//! URLs of files in public buckets.

use super::request::RequestContext;
use super::{Files, StorageError, Transform, path};

/// The address of a file; see [`Files::public_url`].
#[must_use = "the address is made by `build`"]
pub struct PublicUrlBuilder {
    context: RequestContext,
    bucket: String,
    path: String,
    download: Option<String>,
    transform: Transform,
    cache_nonce: Option<String>,
}

impl PublicUrlBuilder {
    pub(super) fn new(files: &Files, path: &str) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path.to_owned(),
            download: None,
            transform: Transform::new(),
            cache_nonce: None,
        }
    }

    /// Makes browsers download the file under this name; `""` is its own name.
    pub fn download(mut self, name: impl Into<String>) -> Self {
        self.download = Some(name.into());
        self
    }

    /// Transforms an image.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// Adds a cache-busting parameter.
    pub fn cache_nonce(mut self, nonce: impl Into<String>) -> Self {
        self.cache_nonce = Some(nonce.into());
        self
    }

    /// Builds the URL. Fails only for paths that cannot be part of one.
    pub fn build(self) -> Result<String, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let mut params: Vec<(&str, String)> = Vec::new();
        params.extend(self.download.map(|name| ("download", name)));
        params.extend(self.transform.params());
        params.extend(self.cache_nonce.map(|nonce| ("cacheNonce", nonce)));
        let query = path::query(params.iter().map(|(name, value)| (*name, value.as_str())));
        let mark = if query.is_empty() { "" } else { "?" };
        let route = if self.transform.is_empty() {
            "object/public"
        } else {
            "render/image/public"
        };
        Ok(format!(
            "{}/{route}/{object}{mark}{query}",
            self.context.root()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    fn photos(name: &str) -> PublicUrlBuilder {
        let client = Client::new("http://localhost:54321", "key").unwrap();
        client.storage().from("photos").public_url(name)
    }

    #[track_caller]
    fn check(builder: PublicUrlBuilder, expected: &str) {
        let root = "http://localhost:54321/storage/v1";
        assert_eq!(builder.build().unwrap(), format!("{root}/{expected}"));
    }

    #[test]
    fn an_address_names_the_file_and_what_to_do_with_it() {
        check(
            photos("/a b/ü?.png"),
            "object/public/photos/a%20b/%C3%BC%3F.png",
        );
        check(
            photos("a.png").download(""),
            "object/public/photos/a.png?download=",
        );
        check(
            photos("a.png").download("x y&z.png").cache_nonce("1+2"),
            "object/public/photos/a.png?download=x%20y%26z.png&cacheNonce=1%2B2",
        );
        check(
            photos("a.png").transform(Transform::new().width(10).height(20)),
            "render/image/public/photos/a.png?width=10&height=20",
        );
        check(
            photos("a.png").transform(Transform::new()),
            "object/public/photos/a.png",
        );
    }

    #[test]
    fn a_path_that_leads_elsewhere_has_no_address() {
        assert!(photos("../secrets/a").build().is_err());
    }
}
