//! Signatures compared with those of botocore, and `aws-chunked` bodies.

use http::{HeaderMap, HeaderName, HeaderValue};
use plinth_token::Secret;
use proptest::prelude::*;

use super::{
    aws_chunked::{Decoded, Decoder},
    query::Query,
    sigv4::{Canonical, ChunkSigner, Scope, hex_sha256, parse_time, render_time, sign},
};
use crate::error::StorageError;

const SECRET: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
const TIME: &str = "20260102T030405Z";
const HOST: &str = "127.0.0.1:54321";

fn scope(region: &str) -> Scope {
    let credential = format!("key/20260102/{region}/s3/aws4_request");
    Scope::parse(&credential).expect("a credential").1
}

struct Case {
    method: &'static str,
    url: &'static str,
    headers: &'static [(&'static str, &'static str)],
    signed: &'static [&'static str],
    payload: String,
    region: &'static str,
    signature: &'static str,
}

fn check(case: &Case) {
    let headers = case.headers.iter().map(|(name, value)| {
        let name = HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    let headers: HeaderMap = headers.collect();
    let (path, query) = case.url.split_once('?').unwrap_or((case.url, ""));
    let names: Vec<_> = case.signed.iter().map(|name| (*name).to_owned()).collect();
    let canonical = Canonical {
        method: case.method,
        path,
        query: &Query::parse(Some(query)),
        headers: &headers,
        sent: None,
        host: HOST,
        signed_headers: &names,
        payload: &case.payload,
    };
    let scope = scope(case.region);
    let text = canonical.string_to_sign(TIME, &scope);
    assert_eq!(
        sign(&scope.key(&Secret::new(SECRET)), &text),
        case.signature,
        "{}",
        case.url
    );
}

/// The signatures were made with botocore 1.44.0 (`S3SigV4Auth`, `S3SigV4QueryAuth`) at a fixed
/// time.
#[test]
fn signatures_are_those_of_botocore() {
    check(&Case {
        method: "GET",
        url: "/storage/v1/s3/my%20bucket?list-type=2&prefix=a%2Fb%20c&delimiter=%2F",
        headers: &[
            ("x-amz-date", TIME),
            (
                "x-amz-content-sha256",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
        ],
        signed: &["host", "x-amz-content-sha256", "x-amz-date"],
        payload: hex_sha256(b""),
        region: "local",
        signature: "84565fab069ade376c44e38b13241582263a06fe29f84a3fd5b4417d7c0c40c7",
    });
    check(&Case {
        method: "PUT",
        url: "/storage/v1/s3/b/%C3%A4%2B%26%3D%20x.txt",
        headers: &[
            ("content-type", "text/plain"),
            ("x-amz-date", TIME),
            (
                "x-amz-content-sha256",
                "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            ),
            ("x-amz-meta-a", "  two   spaces "),
        ],
        signed: &[
            "content-type",
            "host",
            "x-amz-content-sha256",
            "x-amz-date",
            "x-amz-meta-a",
        ],
        payload: hex_sha256(b"hello"),
        region: "local",
        signature: "f4007b8c61c58149700b56f83e77bc77b794e66a43c60b17cab978094ca3cb3a",
    });
    check(&Case {
        method: "GET",
        url: "/storage/v1/s3/b/k?response-content-type=a%21%27%28%29%2Ab&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=0123456789abcdef0123456789abcdef%2F20260102%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20260102T030405Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=b4f3eb0dec1cf33ac08548315434c38a2d60b6f7801fe6662b5732fb2942e037",
        headers: &[],
        signed: &["host"],
        payload: "UNSIGNED-PAYLOAD".to_owned(),
        region: "us-east-1",
        signature: "b4f3eb0dec1cf33ac08548315434c38a2d60b6f7801fe6662b5732fb2942e037",
    });
}

#[test]
fn credentials_have_five_parts_and_name_this_service() {
    let parse = |text: &str| Scope::parse(text);
    let (key, scope) = parse("a/b/20260102/local/s3/aws4_request").expect("a credential");
    assert_eq!((key.as_str(), scope.region.as_str()), ("a/b", "local"));
    for bad in [
        "",
        "a/20260102/local/s3",
        "a/20260102/local/ec2/aws4_request",
        "a/2026/local/s3/aws4_request",
        "/20260102/local/s3/aws4_request",
        "a/20260102/local/s3/aws5_request",
    ] {
        assert!(parse(bad).is_none(), "{bad}");
    }
}

#[test]
fn times_are_parsed_and_rendered() {
    let time = parse_time(TIME).expect("a time");
    assert_eq!(render_time(time).as_deref(), Some(TIME));
    for bad in ["", "20260102", "2026-01-02T03:04:05Z", "20261302T030405Z"] {
        assert!(parse_time(bad).is_none(), "{bad}");
    }
}

fn signer() -> Box<ChunkSigner> {
    let scope = scope("local");
    Box::new(ChunkSigner::new(
        scope.key(&Secret::new(SECRET)),
        TIME,
        &scope,
        "seed",
    ))
}

/// A body as a client encodes it.
fn encode(chunks: &[Vec<u8>], is_signed: bool, trailer: Option<&str>) -> Vec<u8> {
    let mut signer = signer();
    let mut body = Vec::new();
    let last: &[Vec<u8>] = &[Vec::new()];
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()).chain(last) {
        let mut header = format!("{:x}", chunk.len());
        if is_signed {
            header.push_str(&format!(";chunk-signature={}", signer.sign_chunk(chunk)));
        }
        body.extend_from_slice(header.as_bytes());
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(chunk);
        if !chunk.is_empty() {
            body.extend_from_slice(b"\r\n");
        }
    }
    if let Some(value) = trailer {
        body.extend_from_slice(format!("x-amz-checksum-crc32:{value}\r\n").as_bytes());
        if is_signed {
            let text = format!("x-amz-checksum-crc32:{value}\n");
            let signature = signer.sign_trailer(&text);
            body.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n").as_bytes());
        }
    }
    body.extend_from_slice(b"\r\n");
    body
}

/// The bytes, and the trailer.
type DecodedBody = (Vec<u8>, Vec<(String, String)>);

/// Feeds it in inputs of that size; `None` if it is incomplete.
fn decode(
    body: &[u8],
    input_size: usize,
    is_signed: bool,
    has_trailer: bool,
) -> Result<Option<DecodedBody>, StorageError> {
    let mut decoder = Decoder::new(is_signed.then(signer), has_trailer);
    let mut inputs = body.chunks(input_size.max(1));
    let mut data = Vec::new();
    loop {
        match decoder.next()? {
            Decoded::Data(bytes) => data.extend_from_slice(&bytes),
            Decoded::NeedInput => match inputs.next() {
                Some(input) => decoder.feed(input),
                None => return Ok(None),
            },
            Decoded::End => match inputs.next() {
                Some(input) => decoder.feed(input),
                None => return Ok(Some((data, decoder.trailer().to_vec()))),
            },
        }
    }
}

fn chunks() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..6)
}

proptest! {
    #[test]
    fn chunks_come_back_however_they_arrive(
        chunks in chunks(),
        input_size in 1_usize..200,
        is_signed in any::<bool>(),
        has_trailer in any::<bool>(),
    ) {
        let body = encode(&chunks, is_signed, has_trailer.then_some("AAAAAA=="));
        let decoded = decode(&body, input_size, is_signed, has_trailer);
        let (data, trailer) = decoded.expect("a good body").expect("an end");
        prop_assert_eq!(data, chunks.concat());
        prop_assert_eq!(trailer.len(), usize::from(has_trailer));
    }

    #[test]
    fn a_signed_body_with_any_byte_changed_is_rejected(
        chunks in chunks(),
        index in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let mut body = encode(&chunks, true, Some("AAAAAA=="));
        let whole = chunks.concat();
        let index = index.index(body.len());
        body[index] ^= flip;
        // A line break may lose its ␍, and a digit or a name change its case; the data is the same.
        match decode(&body, 64, true, true) {
            Err(_) | Ok(None) => {}
            Ok(Some((data, _))) => prop_assert_eq!(data, whole),
        }
    }

    #[test]
    fn a_truncated_body_has_no_end(chunks in chunks(), is_signed in any::<bool>(), cut in 1_usize..40) {
        let body = encode(&chunks, is_signed, Some("AAAAAA=="));
        let cut = cut.min(body.len());
        let decoded = decode(&body[..body.len() - cut], 64, is_signed, true);
        prop_assert!(!matches!(decoded, Ok(Some(_))));
    }

    #[test]
    fn random_input_does_not_panic(body in prop::collection::vec(any::<u8>(), 0..500), is_signed in any::<bool>()) {
        _ = decode(&body, 50, is_signed, true);
    }
}

#[test]
fn invalid_chunks_are_rejected() {
    let rejected = |body: &[u8]| decode(body, 1000, false, true).is_err();
    assert!(rejected(b"zz\r\n"));
    assert!(rejected(b"\r\n"));
    assert!(rejected(b"-1\r\n"));
    assert!(rejected(b"2\r\nabc\r\n"));
    assert!(rejected(b"0\r\nno colon\r\n\r\n"));
    assert!(rejected(b"0\r\n\r\nmore"));
    assert!(rejected(&[b'1'; 300]));
    assert!(rejected(b"11111111111111111\r\n"));
    let many = "a:b\r\n".repeat(17);
    assert!(rejected(format!("0\r\n{many}\r\n").as_bytes()));
    // Without an announced trailer there must be none.
    assert!(decode(b"0\r\na:b\r\n\r\n", 1000, false, false).is_err());
    // A signed chunk has a limited size.
    let large = format!("{:x};chunk-signature=0\r\n", 8 * 1024 * 1024 + 1);
    assert!(decode(large.as_bytes(), 1000, true, false).is_err());
    assert!(decode(b"1\r\na\r\n0\r\n\r\n", 1000, true, false).is_err());
}
