//! Requests from pages of other origins (storage contract §1.4).

use http::Method;

use crate::support::{Requests, TestApi};

#[tokio::test]
async fn every_route_responds_to_a_preflight() {
    let api = TestApi::start().await;
    let wanted = "authorization, apikey, x-client-info, content-type, cache-control, x-upsert, \
                  x-metadata, x-robots-tag, range, if-none-match, if-modified-since, \
                  tus-resumable, upload-length, x-signature, x-amz-date";
    for path in [
        "/bucket",
        "/bucket/b",
        "/object/b/k",
        "/object/public/b/k",
        "/object/list/b",
        "/upload/resumable",
        "/s3/b/k",
        "/nothing",
    ] {
        let call = api
            .call(Method::OPTIONS, path)
            .header("origin", "https://app.example")
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", wanted);
        let reply = call.await;
        // There it also lists the capabilities of TUS.
        let status = if path == "/upload/resumable" {
            204
        } else {
            200
        };
        reply
            .expect_text(status, "")
            .expect_header("access-control-allow-origin", "*")
            .expect_header("access-control-allow-headers", wanted);
        let methods = reply
            .header("access-control-allow-methods")
            .expect("methods");
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] {
            assert!(methods.contains(method), "{methods}");
        }
    }
}

#[tokio::test]
async fn responses_and_errors_can_be_read_by_scripts() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.has_object("b/a", "x").await;
    for path in [
        "/object/public/b/a",
        "/object/public/b/none",
        "/bucket",
        "/nothing",
    ] {
        let reply = api.get(path).header("origin", "https://app.example").await;
        reply.expect_header("access-control-allow-origin", "*");
        let exposed = reply.header("access-control-expose-headers").expect("some");
        for name in [
            "ETag",
            "Content-Length",
            "Content-Range",
            "Accept-Ranges",
            "Content-Disposition",
            "Last-Modified",
            "X-Transformations",
            "Location",
            "Upload-Offset",
        ] {
            assert!(exposed.contains(name), "{name} in {exposed}");
        }
    }
}
