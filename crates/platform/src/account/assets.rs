//! Static files of the pages: compressed at build time, and cached by browsers without expiry,
//! because their names contain a hash of their content.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/web_pages.rs"));
}

/// Where the built pages come from. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Assets {
    /// Embedded in the binary.
    Embedded,
    /// A folder (`plinth.web_dir`), for development of the pages.
    Folder(Arc<PathBuf>),
}

/// Encodings and their file extensions, the preferred one first.
const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

impl Assets {
    /// From the folder in the settings, else embedded.
    pub fn new(folder: Option<&std::path::Path>) -> Self {
        match folder {
            Some(folder) => Self::Folder(Arc::new(folder.to_owned())),
            None => Self::Embedded,
        }
    }

    /// `index.html`, if it was built.
    pub(super) async fn page(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Embedded => embedded::PAGE.map(Cow::Borrowed),
            Self::Folder(folder) => {
                let page = tokio::fs::read_to_string(folder.join("index.html")).await;
                page.ok().map(Cow::Owned)
            }
        }
    }

    /// `GET <pages>/_account/{name}`
    pub(super) async fn serve(&self, name: &str, request: &HeaderMap) -> Response {
        let Some(name) = name.strip_prefix("assets/").filter(|name| is_plain(name)) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        let mut found = None;
        for (encoding, suffix) in ENCODINGS {
            if accepts(request, encoding)
                && let Some(bytes) = self.read(&format!("{name}{suffix}")).await
            {
                let value = HeaderValue::from_static(encoding);
                headers.insert(header::CONTENT_ENCODING, value);
                found = Some((bytes, encoding));
                break;
            }
        }
        let (bytes, form) = match found {
            Some(found) => found,
            None => match self.read(name).await {
                Some(bytes) => (bytes, "plain"),
                None => return StatusCode::NOT_FOUND.into_response(),
            },
        };
        // The name contains the hash of the content.
        let tag = format!("\"{name}-{form}\"");
        let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, immutable);
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if let Ok(value) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, value);
        }
        if is_not_modified(request, &tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let kind = HeaderValue::from_static(content_type(name));
        headers.insert(header::CONTENT_TYPE, kind);
        (headers, bytes).into_response()
    }

    async fn read(&self, name: &str) -> Option<Bytes> {
        match self {
            Self::Embedded => {
                let index = embedded::ASSETS.binary_search_by(|(known, _)| (*known).cmp(name));
                index
                    .ok()
                    .map(|at| Bytes::from_static(embedded::ASSETS[at].1))
            }
            Self::Folder(folder) => {
                let file = tokio::fs::read(folder.join("assets").join(name)).await;
                file.ok().map(Bytes::from)
            }
        }
    }
}

/// A file name, not a path. Compressed variants have no URL of their own.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.bytes().all(is_plain)
        && !name.starts_with('.')
        && !name.ends_with(".br")
        && !name.ends_with(".gz")
}

/// Whether a client accepts an encoding; `q=0` means that it does not.
fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    let lines = request.get_all(header::ACCEPT_ENCODING).iter();
    let mut items = lines
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','));
    items.any(|item| {
        let mut parts = item.split(';').map(str::trim);
        parts.next() == Some(encoding)
            && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn is_not_modified(request: &HeaderMap, tag: &str) -> bool {
    let lines = request.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = lines
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','));
    tags.any(|cached| cached.trim().trim_start_matches("W/") == tag)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use http::HeaderName;

    use super::*;

    fn assets() -> (tempfile::TempDir, Assets) {
        let folder = tempfile::tempdir().expect("a folder");
        let files = folder.path().join("assets");
        std::fs::create_dir(&files).expect("a folder");
        for (name, text) in [
            ("a-1.js", "plain"),
            ("a-1.js.br", "brotli"),
            ("a-1.js.gz", "zip"),
        ] {
            std::fs::write(files.join(name), text).expect("a file");
        }
        std::fs::write(folder.path().join("index.html"), "page").expect("a file");
        let assets = Assets::new(Some(folder.path()));
        (folder, assets)
    }

    async fn get(assets: &Assets, name: &str, header: (HeaderName, &str)) -> (Response, String) {
        let mut headers = HeaderMap::new();
        headers.insert(header.0, header.1.parse().expect("a header"));
        let (parts, body) = assets.serve(name, &headers).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        let text = String::from_utf8(body.to_vec()).expect("text");
        (Response::from_parts(parts, axum::body::Body::empty()), text)
    }

    #[tokio::test]
    async fn the_best_accepted_encoding_is_sent() {
        let (_folder, assets) = assets();
        for (accepted, expected) in [
            ("gzip, deflate, br", "brotli"),
            ("gzip;q=1.0, br;q=0", "zip"),
            ("identity", "plain"),
        ] {
            let header = (header::ACCEPT_ENCODING, accepted);
            let (response, body) = get(&assets, "assets/a-1.js", header).await;
            assert_eq!(body, expected, "{accepted}");
            assert_eq!(
                response.headers()[header::CACHE_CONTROL],
                "public, max-age=31536000, immutable"
            );
        }
    }

    #[tokio::test]
    async fn what_the_client_has_is_not_sent_again() {
        let (_folder, assets) = assets();
        let known = (header::IF_NONE_MATCH, "\"x\", \"a-1.js-plain\"");
        let (response, body) = get(&assets, "assets/a-1.js", known).await;
        assert_eq!(
            (response.status(), body.as_str()),
            (StatusCode::NOT_MODIFIED, "")
        );
    }

    #[tokio::test]
    async fn only_files_of_the_pages_are_served() {
        let (_folder, assets) = assets();
        for name in [
            "assets/../index.html",
            "index.html",
            "assets/b.js",
            "assets/.hidden",
            "assets/a-1.js.br",
            "assets/%2e%2e/index.html",
        ] {
            let (response, _) = get(&assets, name, (header::ACCEPT, "*/*")).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{name}");
        }
        assert_eq!(assets.page().await.as_deref(), Some("page"));
    }
}
