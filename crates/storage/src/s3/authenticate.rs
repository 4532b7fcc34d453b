//! Who signed a request (storage contract §6.1).

use std::{sync::Arc, time::Duration};

use axum::extract::OriginalUri;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, DATE, HOST},
    request::Parts,
};
use plinth_project::{Caller, Project, PublicUrl, S3Pair};
use plinth_token::Secret;
use time::OffsetDateTime;

use super::{
    query::Query,
    sigv4::{ALGORITHM, Canonical, ChunkSigner, Scope, is_same, parse_time, render_time, sign},
};
use crate::{
    error::{Code, StorageError},
    request::caller_of_token,
};

/// How far the clocks of client and server may differ.
const SKEW: Duration = Duration::from_secs(15 * 60);
/// A presigned URL is good for a week at most.
const LONGEST: i64 = 7 * 24 * 3600;
/// Where the service is mounted below a project.
const MOUNT: &str = "/storage/v1";
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
/// Regions that clients name when they have none.
const ANY_REGION: [&str; 3] = ["auto", "us-east-1", ""];

/// What a good signature proves.
pub(super) struct Proof {
    pub(super) caller: Caller,
    pub(super) payload: Payload,
    /// Whether the signature stood in the URL, where a browser can follow it.
    pub(super) is_link: bool,
}

/// How a body is to be read.
pub(super) enum Payload {
    Unsigned,
    /// The hash of the whole, in hexadecimal digits.
    Sha256(String),
    Chunked {
        signer: Option<Box<ChunkSigner>>,
        has_trailer: bool,
    },
}

/// What a request says about its signature.
struct Signed {
    access_key: String,
    scope: Scope,
    /// As it was signed.
    time: String,
    at: OffsetDateTime,
    /// Only a link ends by itself.
    lasts: Option<Duration>,
    signed_headers: Vec<String>,
    signature: String,
    token: Option<String>,
    payload: String,
}

/// Checks the signature of a request in its headers, else in its URL.
pub(super) fn authenticate(
    project: &Project,
    region: &str,
    parts: &mut Parts,
    query: &Query,
    now: OffsetDateTime,
) -> Result<Proof, StorageError> {
    let signed = match authorization(&parts.headers) {
        Some(text) => Signed::of_headers(text, &parts.headers)?,
        None if query.has("X-Amz-Signature") => Signed::of_query(query, &parts.headers)?,
        None => return Err(StorageError::access_denied("Missing signature")),
    };
    let is_link = signed.lasts.is_some();
    check_region(&signed.scope, region)?;
    check_time(signed.at, signed.lasts, now)?;
    refuse_unsigned(&parts.headers, &signed.signed_headers)?;
    let candidates = Candidates::of(project, &signed.access_key, signed.token.as_deref())?;
    let secret = candidates
        .secrets()
        .find(|secret| signed.is_signed_with(secret.expose(), parts, query))
        .ok_or_else(mismatch)?
        .clone();
    let caller = candidates.caller(project, now)?;
    let payload = signed.payload(&secret)?;
    if is_link {
        lift_parameters(query, &mut parts.headers)?;
    }
    Ok(Proof {
        caller,
        payload,
        is_link,
    })
}

/// Checks the signature of a form's policy.
pub(super) fn authenticate_policy(
    project: &Project,
    region: &str,
    field: impl Fn(&str) -> Option<String>,
    now: OffsetDateTime,
) -> Result<Caller, StorageError> {
    let required = |name: &str| field(name).ok_or_else(|| malformed(&format!("no field {name}")));
    if required("x-amz-algorithm")? != ALGORITHM {
        return Err(malformed("another algorithm"));
    }
    let (access_key, scope) = Scope::read(&required("x-amz-credential")?)
        .ok_or_else(|| malformed("a credential of another form"))?;
    let time = required("x-amz-date")?;
    let at = parse_time(&time).ok_or_else(|| malformed("a time of another form"))?;
    if !scope.is_of(&time) || at > now + SKEW {
        return Err(malformed("times that contradict each other"));
    }
    check_region(&scope, region)?;
    let token = field("x-amz-security-token");
    let candidates = Candidates::of(project, &access_key, token.as_deref())?;
    let (policy, signature) = (required("policy")?, required("x-amz-signature")?);
    let is_good =
        |secret: &Secret| is_same(&sign(&scope.key(secret.expose()), &policy), &signature);
    match candidates.secrets().any(is_good) {
        true => candidates.caller(project, now),
        false => Err(mismatch()),
    }
}

/// Whose signature it may be.
enum Candidates<'a> {
    Pair(Arc<S3Pair>),
    /// A user, who signs with what everybody knows and shows a token as well.
    Session {
        secrets: Vec<Secret>,
        token: &'a str,
    },
}

impl<'a> Candidates<'a> {
    fn of(
        project: &Project,
        access_key: &str,
        token: Option<&'a str>,
    ) -> Result<Self, StorageError> {
        let keys = project.keys();
        let Some(token) = token else {
            let pair = keys.s3.pairs.get(access_key).cloned();
            return pair.map(Self::Pair).ok_or_else(|| {
                let message = "The access key is unknown";
                StorageError::new(Code::InvalidAccessKeyId, 403, message)
            });
        };
        if access_key != project.reference().as_str() {
            return Err(StorageError::access_denied("Invalid Access Key"));
        }
        let secrets = keys.s3.session_secrets.clone();
        Ok(Self::Session { secrets, token })
    }

    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let secrets = match self {
            Self::Pair(pair) => std::slice::from_ref(&pair.secret_key),
            Self::Session { secrets, .. } => secrets,
        };
        secrets.iter()
    }

    fn caller(&self, project: &Project, now: OffsetDateTime) -> Result<Caller, StorageError> {
        match self {
            Self::Pair(pair) => Ok(Caller::from_s3_pair(pair.clone())),
            Self::Session { token, .. } => caller_of_token(project, token, now.unix_timestamp()),
        }
    }
}

impl Signed {
    fn of_headers(text: &str, headers: &HeaderMap) -> Result<Self, StorageError> {
        let fields = text.strip_prefix(ALGORITHM).unwrap_or_default();
        let field = |name: &str| {
            fields.split(',').find_map(|field| {
                let (found, value) = field.trim().split_once('=')?;
                (found == name).then(|| value.trim().to_owned())
            })
        };
        let required = |name| field(name).ok_or_else(|| malformed(&format!("no {name}")));
        let (time, at) = time_of(headers).ok_or_else(|| malformed("no time"))?;
        let (access_key, scope) = credential(&required("Credential")?, &time)?;
        Ok(Self {
            access_key,
            scope,
            time,
            at,
            lasts: None,
            signed_headers: names(&required("SignedHeaders")?)?,
            signature: required("Signature")?,
            token: text_of(headers, "x-amz-security-token"),
            payload: text_of(headers, "x-amz-content-sha256")
                .unwrap_or_else(|| UNSIGNED.to_owned()),
        })
    }

    fn of_query(query: &Query, headers: &HeaderMap) -> Result<Self, StorageError> {
        let required = |name: &str| {
            let value = query.filled(name).map(str::to_owned);
            value.ok_or_else(|| malformed(&format!("no {name}")))
        };
        if required("X-Amz-Algorithm")? != ALGORITHM {
            return Err(malformed("another algorithm"));
        }
        let time = required("X-Amz-Date")?;
        let lasts = required("X-Amz-Expires")?.parse::<i64>().ok();
        let lasts = lasts
            .filter(|seconds| (1..=LONGEST).contains(seconds))
            .and_then(|seconds| u64::try_from(seconds).ok())
            .ok_or_else(|| malformed("X-Amz-Expires is not between 1 and 604800"))?;
        let payload = query
            .filled("X-Amz-Content-Sha256")
            .map(str::to_owned)
            .or_else(|| text_of(headers, "x-amz-content-sha256"));
        let (access_key, scope) = credential(&required("X-Amz-Credential")?, &time)?;
        Ok(Self {
            access_key,
            scope,
            at: parse_time(&time).ok_or_else(|| malformed("a time of another form"))?,
            time,
            lasts: Some(Duration::from_secs(lasts)),
            signed_headers: names(&required("X-Amz-SignedHeaders")?)?,
            signature: required("X-Amz-Signature")?,
            token: query.filled("X-Amz-Security-Token").map(str::to_owned),
            payload: payload.unwrap_or_else(|| UNSIGNED.to_owned()),
        })
    }

    /// The client signed what it sent, and to where it sent it. Proxies may have changed the latter,
    /// so every address that we are known by is tried.
    fn is_signed_with(&self, secret: &str, parts: &Parts, query: &Query) -> bool {
        let key = self.scope.key(secret);
        let is_good = |(path, host): (&String, &String)| {
            let canonical = Canonical {
                method: parts.method.as_str(),
                path,
                query,
                headers: &parts.headers,
                host,
                signed_headers: &self.signed_headers,
                payload: &self.payload,
            };
            let text = canonical.string_to_sign(&self.time, &self.scope);
            is_same(&sign(&key, &text), &self.signature)
        };
        let (paths, hosts) = (paths(parts), hosts(parts));
        paths
            .iter()
            .flat_map(|path| hosts.iter().map(move |host| (path, host)))
            .any(is_good)
    }

    fn payload(&self, secret: &Secret) -> Result<Payload, StorageError> {
        let signer = || {
            let key = self.scope.key(secret.expose());
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

/// `Authorization`, where it is of our kind.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    text.starts_with(ALGORITHM).then_some(text)
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    Some(text.to_owned())
}

fn credential(text: &str, time: &str) -> Result<(String, Scope), StorageError> {
    let read = Scope::read(text).ok_or_else(|| malformed("a credential of another form"))?;
    match read.1.is_of(time) {
        true => Ok(read),
        false => Err(malformed("a credential of another day")),
    }
}

/// The names of the headers that are signed: at least the host.
fn names(list: &str) -> Result<Vec<String>, StorageError> {
    let names: Vec<_> = list.split(';').map(str::to_ascii_lowercase).collect();
    match names.iter().any(|name| name == "host") {
        true => Ok(names),
        false => Err(malformed("the host is not signed")),
    }
}

/// `x-amz-date`, else `Date`.
fn time_of(headers: &HeaderMap) -> Option<(String, OffsetDateTime)> {
    if let Some(text) = text_of(headers, "x-amz-date") {
        let at = parse_time(&text)?;
        return Some((text, at));
    }
    let date = text_of(headers, DATE.as_str())?;
    let at = OffsetDateTime::from(httpdate::parse_http_date(&date).ok()?);
    Some((render_time(at)?, at))
}

/// The path as it came in, and as the client knew it where a proxy took something away.
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

/// The hosts that the client may know us by.
fn hosts(parts: &Parts) -> Vec<String> {
    let public = public_url(parts).and_then(|url| {
        let host = url.host_str()?;
        let port = url.port().map(|port| format!(":{port}"));
        Some(format!("{host}{}", port.unwrap_or_default()))
    });
    let header = |name: &str| text_of(&parts.headers, name);
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

fn check_region(scope: &Scope, region: &str) -> Result<(), StorageError> {
    let is_known = scope.region == region || ANY_REGION.contains(&scope.region.as_str());
    match is_known {
        true => Ok(()),
        false => Err(malformed(&format!("the region is {region}"))),
    }
}

fn check_time(
    at: OffsetDateTime,
    lasts: Option<Duration>,
    now: OffsetDateTime,
) -> Result<(), StorageError> {
    // The future first: at the end of the calendar nothing can be added to it.
    let is_late = lasts.is_none() && at < now - SKEW;
    if at > now + SKEW || is_late {
        let message = "The times of client and server differ too much";
        return Err(StorageError::new(Code::RequestTimeTooSkewed, 403, message));
    }
    if lasts.is_some_and(|lasts| at + lasts < now) {
        let message = "The provided token has expired.";
        return Err(StorageError::new(Code::ExpiredToken, 400, message));
    }
    Ok(())
}

/// These headers change what a request does. Whoever has a link must not be able to add one.
fn refuse_unsigned(headers: &HeaderMap, signed: &[String]) -> Result<(), StorageError> {
    let is_loose = |name: &&HeaderName| {
        name.as_str().starts_with("x-amz-") && !signed.iter().any(|signed| name.as_str() == signed)
    };
    match headers.keys().find(is_loose) {
        Some(name) => Err(StorageError::access_denied(format!(
            "The header {name} is not signed"
        ))),
        None => Ok(()),
    }
}

/// Parameters of a link that are headers elsewhere. Checksums are left out: libraries that make
/// links put there those of an empty body.
fn lift_parameters(query: &Query, headers: &mut HeaderMap) -> Result<(), StorageError> {
    const NOT_LIFTED: [&str; 8] = [
        "x-amz-algorithm",
        "x-amz-credential",
        "x-amz-date",
        "x-amz-expires",
        "x-amz-signedheaders",
        "x-amz-signature",
        "x-amz-security-token",
        "x-amz-content-sha256",
    ];
    for (name, value) in query.pairs() {
        let name = name.to_ascii_lowercase();
        let is_other = !name.starts_with("x-amz-")
            || name.starts_with("x-amz-checksum-")
            || name.starts_with("x-amz-sdk-")
            || NOT_LIFTED.contains(&name.as_str());
        if is_other {
            continue;
        }
        let bad = || StorageError::invalid_parameter(&name);
        let header = HeaderName::try_from(&name).map_err(|_| bad())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?;
        headers.entry(header).or_insert(value);
    }
    Ok(())
}

fn malformed(what: &str) -> StorageError {
    StorageError::invalid_signature(format!("The signature cannot be read: {what}"))
}

fn mismatch() -> StorageError {
    let message = "The signature is not that of this request made with this access key's secret";
    StorageError::new(Code::SignatureDoesNotMatch, 403, message)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_that_no_clock_shows_are_refused_without_harm() {
        let now = datetime!(2026-01-02 03:04:05 UTC);
        let week = Some(Duration::from_secs(LONGEST.unsigned_abs()));
        let check = |at, lasts, expected: Option<Code>| {
            let refused = check_time(at, lasts, now).err();
            assert_eq!(refused.map(|error| error.code()), expected, "{at}");
        };
        check(now, None, None);
        check(now, week, None);
        check(
            datetime!(2026-01-02 02:00:00 UTC),
            None,
            Some(Code::RequestTimeTooSkewed),
        );
        check(datetime!(2026-01-02 02:00:00 UTC), week, None);
        check(
            datetime!(2025-12-01 00:00:00 UTC),
            week,
            Some(Code::ExpiredToken),
        );
        check(
            datetime!(9999-12-31 23:59:59 UTC),
            week,
            Some(Code::RequestTimeTooSkewed),
        );
        check(
            datetime!(0000-01-01 00:00:00 UTC),
            week,
            Some(Code::ExpiredToken),
        );
    }
}
