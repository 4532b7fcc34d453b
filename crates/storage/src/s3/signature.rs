//! The signature that a request carries, in its headers or in its URL.

use std::time::Duration;

use axum::extract::OriginalUri;
use http::{
    HeaderMap,
    header::{AUTHORIZATION, DATE, HOST},
    request::Parts,
};
use plinth_project::{PublicUrl, SentHeaders};
use plinth_token::Secret;
use time::OffsetDateTime;

use super::{
    query::Query,
    sigv4::{
        ALGORITHM, Canonical, ChunkSigner, Scope, constant_time_eq, parse_time, render_time, sign,
    },
};
use crate::error::StorageError;

/// The longest lifetime of a presigned URL: a week.
pub(super) const MAX_PRESIGNED_SECONDS: i64 = 7 * 24 * 3600;
/// The mount point of the service.
const MOUNT: &str = "/storage/v1";
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The parameters of a signature.
pub(super) struct SignatureParams {
    pub(super) access_key: String,
    pub(super) scope: Scope,
    /// As it was signed.
    time: String,
    pub(super) signed_at: OffsetDateTime,
    /// Of a presigned URL.
    pub(super) expires_in: Option<Duration>,
    pub(super) signed_headers: Vec<String>,
    signature: String,
    /// An access token.
    pub(super) session_token: Option<Secret>,
    payload: String,
}

/// How the body is signed and encoded.
pub(super) enum Payload {
    Unsigned,
    /// The hash of the whole body, in hexadecimal digits.
    Sha256(String),
    Chunked {
        signer: Option<Box<ChunkSigner>>,
        has_trailer: bool,
    },
}

impl SignatureParams {
    /// Those of the `Authorization` header, or else of the URL.
    pub(super) fn parse(headers: &HeaderMap, query: &Query) -> Result<Self, StorageError> {
        match authorization(headers) {
            Some(text) => Self::from_headers(text, headers),
            None if query.has("X-Amz-Signature") => Self::from_query(query, headers),
            None => Err(StorageError::access_denied("Missing signature")),
        }
    }

    fn from_headers(text: &str, headers: &HeaderMap) -> Result<Self, StorageError> {
        let fields = text.strip_prefix(ALGORITHM).unwrap_or_default();
        let field = |name: &str| {
            fields.split(',').find_map(|field| {
                let (found, value) = field.trim().split_once('=')?;
                (found == name).then(|| value.trim().to_owned())
            })
        };
        let required = |name| field(name).ok_or_else(|| malformed(&format!("{name} is missing")));
        let (time, at) =
            request_time(headers).ok_or_else(|| malformed("the date is missing or invalid"))?;
        let (access_key, scope) = credential(&required("Credential")?, &time)?;
        Ok(Self {
            access_key,
            scope,
            time,
            signed_at: at,
            expires_in: None,
            signed_headers: signed_header_names(&required("SignedHeaders")?)?,
            signature: required("Signature")?,
            session_token: header_text(headers, "x-amz-security-token").map(Secret::new),
            payload: header_text(headers, "x-amz-content-sha256")
                .unwrap_or_else(|| UNSIGNED.to_owned()),
        })
    }

    fn from_query(query: &Query, headers: &HeaderMap) -> Result<Self, StorageError> {
        let required = |name: &str| {
            let value = query.non_empty(name).map(str::to_owned);
            value.ok_or_else(|| malformed(&format!("{name} is missing")))
        };
        if required("X-Amz-Algorithm")? != ALGORITHM {
            return Err(malformed("the algorithm is not supported"));
        }
        let time = required("X-Amz-Date")?;
        let seconds = required("X-Amz-Expires")?.parse::<i64>().ok();
        let seconds = seconds
            .filter(|seconds| (1..=MAX_PRESIGNED_SECONDS).contains(seconds))
            .and_then(|seconds| u64::try_from(seconds).ok())
            .ok_or_else(|| malformed("X-Amz-Expires is not between 1 and 604800"))?;
        let payload = query
            .non_empty("X-Amz-Content-Sha256")
            .map(str::to_owned)
            .or_else(|| header_text(headers, "x-amz-content-sha256"));
        let (access_key, scope) = credential(&required("X-Amz-Credential")?, &time)?;
        Ok(Self {
            access_key,
            scope,
            signed_at: parse_time(&time).ok_or_else(|| malformed("the date is invalid"))?,
            time,
            expires_in: Some(Duration::from_secs(seconds)),
            signed_headers: signed_header_names(&required("X-Amz-SignedHeaders")?)?,
            signature: required("X-Amz-Signature")?,
            session_token: query.non_empty("X-Amz-Security-Token").map(Secret::new),
            payload: payload.unwrap_or_else(|| UNSIGNED.to_owned()),
        })
    }

    /// The signature covers path and host. Proxies may have changed those, so all that the client may
    /// have used are tried.
    pub(super) fn is_signed_with(&self, secret: &Secret, parts: &Parts, query: &Query) -> bool {
        let key = self.scope.key(secret);
        let is_good = |(path, host): (&String, &String)| {
            let canonical = Canonical {
                method: parts.method.as_str(),
                path,
                query,
                headers: &parts.headers,
                sent: parts.extensions.get::<SentHeaders>(),
                host,
                signed_headers: &self.signed_headers,
                payload: &self.payload,
            };
            let text = canonical.string_to_sign(&self.time, &self.scope);
            constant_time_eq(&sign(&key, &text), &self.signature)
        };
        let (paths, hosts) = (paths(parts), hosts(parts));
        paths
            .iter()
            .flat_map(|path| hosts.iter().map(move |host| (path, host)))
            .any(is_good)
    }

    pub(super) fn payload(&self, secret: &Secret) -> Result<Payload, StorageError> {
        let signer = || {
            let key = self.scope.key(secret);
            Box::new(ChunkSigner::new(
                key,
                &self.time,
                &self.scope,
                &self.signature,
            ))
        };
        let is_hash = |text: &str| {
            let is_digit = |byte: u8| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase();
            text.len() == 64 && text.bytes().all(is_digit)
        };
        let chunked = |signer, has_trailer| Payload::Chunked {
            signer,
            has_trailer,
        };
        match self.payload.as_str() {
            UNSIGNED => Ok(Payload::Unsigned),
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => Ok(chunked(Some(signer()), false)),
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => Ok(chunked(Some(signer()), true)),
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => Ok(chunked(None, true)),
            hash if is_hash(hash) => Ok(Payload::Sha256(hash.to_owned())),
            _ => Err(StorageError::invalid_request(
                "x-amz-content-sha256 must be a hash or the name of a mode",
            )),
        }
    }
}

/// `Authorization`, if it is a SigV4 signature.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    text.starts_with(ALGORITHM).then_some(text)
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    Some(text.to_owned())
}

fn credential(text: &str, time: &str) -> Result<(String, Scope), StorageError> {
    let parsed = Scope::parse(text).ok_or_else(|| malformed("the credential is invalid"))?;
    if parsed.1.matches_date_of(time) {
        Ok(parsed)
    } else {
        Err(malformed("the credential is of another day than the date"))
    }
}

/// The names of the signed headers; `host` must be among them.
fn signed_header_names(list: &str) -> Result<Vec<String>, StorageError> {
    let names: Vec<_> = list.split(';').map(str::to_ascii_lowercase).collect();
    if names.iter().any(|name| name == "host") {
        Ok(names)
    } else {
        Err(malformed("the host is not signed"))
    }
}

/// `x-amz-date`, else `Date`.
fn request_time(headers: &HeaderMap) -> Option<(String, OffsetDateTime)> {
    if let Some(text) = header_text(headers, "x-amz-date") {
        let at = parse_time(&text)?;
        return Some((text, at));
    }
    let date = header_text(headers, DATE.as_str())?;
    let at = OffsetDateTime::from(httpdate::parse_http_date(&date).ok()?);
    Some((render_time(at)?, at))
}

/// The path as it arrived, and as the client may have sent it where a proxy removed a prefix.
fn paths(parts: &Parts) -> Vec<String> {
    let own = parts.uri.path();
    let sent = match parts.extensions.get::<OriginalUri>() {
        Some(OriginalUri(uri)) => uri.path(),
        None => own,
    };
    let mut paths = vec![sent.to_owned()];
    if let Some(url) = public_url(parts) {
        paths.push(format!("{}{MOUNT}{own}", url.path().trim_end_matches('/')));
    }
    paths.dedup();
    paths
}

/// The hosts that the client may have used.
fn hosts(parts: &Parts) -> Vec<String> {
    let public = public_url(parts).and_then(|url| {
        let host = url.host_str()?;
        let port = url.port().map(|port| format!(":{port}"));
        Some(format!("{host}{}", port.unwrap_or_default()))
    });
    let header = |name: &str| header_text(&parts.headers, name);
    let authority = parts.uri.authority().map(ToString::to_string);
    let known = [public, header("x-forwarded-host"), header(HOST.as_str())];
    let mut hosts: Vec<_> = known.into_iter().flatten().chain(authority).collect();
    hosts.dedup();
    hosts
}

fn public_url(parts: &Parts) -> Option<url::Url> {
    let url = parts.extensions.get::<PublicUrl>()?;
    url::Url::parse(url.as_str()).ok()
}

/// The error of a signature that cannot be parsed.
pub(super) fn malformed(what: &str) -> StorageError {
    StorageError::invalid_signature(format!("The signature is malformed: {what}"))
}
