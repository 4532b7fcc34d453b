//! gzip and brotli for texts, when the client accepts one of them.
//!
//! Only responses of known size are compressed: the encoder would delay the chunks of a stream.
//! Responses that support range requests are not compressed either.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{
        ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE,
        CONTENT_TYPE, ETAG, VARY,
    },
};
use hyper::body::Body as _;
use tower::{Service, service_fn};
use tower_http::compression::Compression;

/// Smaller bodies gain nothing.
const MIN_BYTES: u64 = 1024;

/// `Accept-Encoding` of the request, kept for its response.
pub(crate) struct AcceptedEncodings {
    encodings: Option<HeaderValue>,
    is_head: bool,
}

impl AcceptedEncodings {
    pub(crate) fn from_request(method: &Method, headers: &HeaderMap) -> Self {
        let encodings = headers.get(ACCEPT_ENCODING).cloned();
        Self {
            encodings,
            is_head: method == Method::HEAD,
        }
    }

    /// Compresses the response if it is compressible, and adds `Accept-Encoding` to `Vary`.
    pub(crate) async fn compress(self, mut response: Response) -> Response {
        if !is_compressible(&response) {
            return response;
        }
        add_vary(response.headers_mut());
        let Some(encodings) = self.encodings.filter(|_| !self.is_head) else {
            return response;
        };
        // Boxed: few responses need this large future, and it would be part of every request's.
        Box::pin(compress(response, encodings)).await
    }
}

fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let size = response.body().size_hint().exact();
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    size.is_some_and(|bytes| bytes >= MIN_BYTES)
        && response.status() != StatusCode::PARTIAL_CONTENT
        && [CONTENT_ENCODING, CONTENT_RANGE]
            .iter()
            .all(|name| !headers.contains_key(name))
        && text(ACCEPT_RANGES).is_none_or(|units| units == "none")
        && text(CACHE_CONTROL).is_none_or(|rules| !rules.contains("no-transform"))
        && text(CONTENT_TYPE).is_some_and(is_text)
}

fn is_text(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "text/event-stream" => false,
        "application/json" | "application/javascript" | "application/xml" | "image/svg+xml" => true,
        other => {
            other.starts_with("text/")
                || (other.starts_with("application/")
                    && (other.ends_with("+json") || other.ends_with("+xml")))
        }
    }
}

fn add_vary(headers: &mut HeaderMap) {
    let names = headers
        .get_all(VARY)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let mut names = names.flat_map(|value| value.split(',')).map(str::trim);
    if !names.any(|name| name == "*" || name.eq_ignore_ascii_case(ACCEPT_ENCODING.as_str())) {
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

async fn compress(response: Response, encodings: HeaderValue) -> Response {
    let status = response.status();
    let mut ready = Some(response);
    let inner = service_fn(move |_: Request<()>| {
        let response = ready.take().unwrap_or_default();
        std::future::ready(Ok::<_, std::convert::Infallible>(response))
    });
    let mut request = Request::new(());
    request.headers_mut().insert(ACCEPT_ENCODING, encodings);
    let compressed = match Compression::new(inner).call(request).await {
        Ok(compressed) => compressed,
        Err(impossible) => match impossible {},
    };
    let mut response = compressed.map(Body::new);
    // tower-http responds 406 when `identity` is not acceptable either; the request has had its
    // effect by now, and every client can read the plain form.
    *response.status_mut() = status;
    if response.headers().contains_key(CONTENT_ENCODING) {
        weaken_etag(response.headers_mut());
    }
    response
}

/// The bytes differ from the uncompressed ones, so the validator can only be weak.
fn weaken_etag(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(ETAG).and_then(|tag| tag.to_str().ok()) else {
        return;
    };
    if tag.starts_with('"')
        && let Ok(weak) = HeaderValue::try_from(format!("W/{tag}"))
    {
        headers.insert(ETAG, weak);
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    async fn respond(
        accept: Option<&str>,
        headers: &[(&'static str, &str)],
        size: usize,
    ) -> Response {
        let mut response = "x".repeat(size).into_response();
        response.headers_mut().remove(CONTENT_TYPE);
        for (name, value) in headers {
            response
                .headers_mut()
                .append(*name, value.parse().expect("a header value"));
        }
        let mut request = HeaderMap::new();
        if let Some(accept) = accept {
            request.insert(ACCEPT_ENCODING, accept.parse().expect("a header value"));
        }
        let accepted = AcceptedEncodings::from_request(&Method::GET, &request);
        accepted.compress(response).await
    }

    async fn check(accept: &str, headers: &[(&'static str, &str)], size: usize, expected: &str) {
        let response = respond(Some(accept), headers, size).await;
        let encoding = response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.map_or("", |value| value.to_str().expect("text"));
        assert_eq!(encoding, expected, "{accept} {headers:?} {size}");
    }

    const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");

    #[tokio::test]
    async fn the_client_chooses_the_encoding() {
        check("gzip", &[JSON], 2000, "gzip").await;
        check("gzip, deflate, br", &[JSON], 2000, "br").await;
        check("br;q=0.1, gzip", &[JSON], 2000, "gzip").await;
        check("identity", &[JSON], 2000, "").await;
        check("gzip;q=0", &[JSON], 2000, "").await;
    }

    #[tokio::test]
    async fn texts_are_compressed_and_nothing_else() {
        for kind in [
            "text/csv",
            "application/vnd.pgrst.object+json",
            "image/svg+xml",
        ] {
            check("gzip", &[("content-type", kind)], 2000, "gzip").await;
        }
        for kind in [
            "text/event-stream",
            "image/png",
            "application/octet-stream",
            "video/mp4",
        ] {
            check("gzip", &[("content-type", kind)], 2000, "").await;
        }
        check("gzip", &[], 2000, "").await;
    }

    #[tokio::test]
    async fn small_encoded_and_ranged_responses_stay_as_they_are() {
        check("gzip", &[JSON], 1023, "").await;
        check("gzip", &[JSON, ("content-encoding", "zstd")], 2000, "zstd").await;
        check("gzip", &[JSON, ("content-range", "0-9/*")], 2000, "").await;
        check("gzip", &[JSON, ("accept-ranges", "bytes")], 2000, "").await;
        check(
            "gzip",
            &[JSON, ("cache-control", "public, no-transform")],
            2000,
            "",
        )
        .await;
    }

    #[tokio::test]
    async fn vary_is_set_whether_or_not_it_was_compressed() {
        for accept in [None, Some("gzip")] {
            let response = respond(accept, &[JSON, ("vary", "Origin")], 2000).await;
            let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
            assert_eq!(vary, ["Origin", "Accept-Encoding"]);
        }
        let response = respond(Some("gzip"), &[JSON, ("vary", "accept-encoding")], 2000).await;
        assert_eq!(response.headers().get_all(VARY).iter().count(), 1);
        let response = respond(Some("gzip"), &[("content-type", "image/png")], 2000).await;
        assert!(!response.headers().contains_key(VARY));
    }

    #[tokio::test]
    async fn a_strong_validator_becomes_a_weak_one() {
        let response = respond(Some("gzip"), &[JSON, ("etag", "\"abc\"")], 2000).await;
        assert_eq!(response.headers()[ETAG], "W/\"abc\"");
        let response = respond(None, &[JSON, ("etag", "\"abc\"")], 2000).await;
        assert_eq!(response.headers()[ETAG], "\"abc\"");
    }

    #[tokio::test]
    async fn not_accepting_identity_changes_no_status() {
        let response = respond(Some("identity;q=0"), &[JSON], 2000).await;
        assert_eq!(response.status(), StatusCode::OK);
    }
}
