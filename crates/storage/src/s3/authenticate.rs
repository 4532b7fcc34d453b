//! Verifies the signature of a request: the caller is who signed it (storage contract §6.1).

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};
use plinth_project::{Caller, Project};
use plinth_token::Secret;
use time::OffsetDateTime;

use super::{
    query::Query,
    signature::{Payload, SignatureParams, malformed},
    signer::Signer,
    sigv4::{ALGORITHM, Scope, constant_time_eq, parse_time, sign},
};
use crate::error::{Code, StorageError};

/// How far the clocks of client and server may differ.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(15 * 60);
/// Regions that clients send by default, accepted as ours.
const DEFAULT_REGIONS: [&str; 3] = ["auto", "us-east-1", ""];

/// What a valid signature establishes.
pub(super) struct Authenticated {
    pub(super) caller: Caller,
    pub(super) payload: Payload,
    /// Whether the signature was in the URL, which a browser can follow.
    pub(super) is_presigned: bool,
}

/// Verifies the signature of a request, in its headers or else in its URL.
pub(super) fn authenticate(
    project: &Project,
    region: &str,
    parts: &mut Parts,
    query: &Query,
    now: OffsetDateTime,
) -> Result<Authenticated, StorageError> {
    let signed = SignatureParams::parse(&parts.headers, query)?;
    let is_presigned = signed.expires_in.is_some();
    check_region(&signed.scope, region)?;
    check_time(signed.signed_at, signed.expires_in, now)?;
    reject_unsigned_headers(&parts.headers, &signed.signed_headers)?;
    let signer = Signer::find(project, &signed.access_key, signed.session_token.as_ref())?;
    let secret = signer
        .secrets()
        .find(|secret| signed.is_signed_with(secret, parts, query))
        .ok_or_else(mismatch)?
        .clone();
    let caller = signer.caller(project, now)?;
    let payload = signed.payload(&secret)?;
    if is_presigned {
        add_presigned_headers(query, &mut parts.headers)?;
    }
    Ok(Authenticated {
        caller,
        payload,
        is_presigned,
    })
}

/// Verifies the signature of the policy of a form.
pub(super) fn authenticate_policy(
    project: &Project,
    region: &str,
    field: impl Fn(&str) -> Option<String>,
    now: OffsetDateTime,
) -> Result<Caller, StorageError> {
    let required =
        |name: &str| field(name).ok_or_else(|| malformed(&format!("the field {name} is missing")));
    if required("x-amz-algorithm")? != ALGORITHM {
        return Err(malformed("the algorithm is not supported"));
    }
    let (access_key, scope) = Scope::parse(&required("x-amz-credential")?)
        .ok_or_else(|| malformed("the credential is invalid"))?;
    let time = required("x-amz-date")?;
    let at = parse_time(&time).ok_or_else(|| malformed("the date is invalid"))?;
    if !scope.matches_date_of(&time) || at > now + MAX_CLOCK_SKEW {
        return Err(malformed(
            "the date does not match the credential, or is in the future",
        ));
    }
    check_region(&scope, region)?;
    let token = field("x-amz-security-token").map(Secret::new);
    let signer = Signer::find(project, &access_key, token.as_ref())?;
    let (policy, signature) = (required("policy")?, required("x-amz-signature")?);
    let is_good =
        |secret: &Secret| constant_time_eq(&sign(&scope.key(secret), &policy), &signature);
    if signer.secrets().any(is_good) {
        signer.caller(project, now)
    } else {
        Err(mismatch())
    }
}

fn check_region(scope: &Scope, region: &str) -> Result<(), StorageError> {
    let is_known = scope.region == region || DEFAULT_REGIONS.contains(&scope.region.as_str());
    if is_known {
        Ok(())
    } else {
        Err(malformed(&format!("the region must be {region}")))
    }
}

fn check_time(
    at: OffsetDateTime,
    expires_in: Option<Duration>,
    now: OffsetDateTime,
) -> Result<(), StorageError> {
    // The future first: adding to the last date of the calendar would overflow.
    let is_late = expires_in.is_none() && at < now - MAX_CLOCK_SKEW;
    if at > now + MAX_CLOCK_SKEW || is_late {
        let message = "The difference between the request time and the server time is too large";
        return Err(StorageError::new(Code::RequestTimeTooSkewed, 403, message));
    }
    if expires_in.is_some_and(|lifetime| at + lifetime < now) {
        let message = "The provided token has expired.";
        return Err(StorageError::new(Code::ExpiredToken, 400, message));
    }
    Ok(())
}

/// `x-amz-` headers change what a request does: who has a presigned URL must not be able to add
/// one.
fn reject_unsigned_headers(headers: &HeaderMap, signed: &[String]) -> Result<(), StorageError> {
    let is_unsigned = |name: &&HeaderName| {
        name.as_str().starts_with("x-amz-") && !signed.iter().any(|signed| name.as_str() == signed)
    };
    match headers.keys().find(is_unsigned) {
        Some(name) => Err(StorageError::access_denied(format!(
            "The header {name} is not signed"
        ))),
        None => Ok(()),
    }
}

/// Adds the parameters of a presigned URL that are headers elsewhere. Checksums are left out: SDKs
/// presign those of an empty body.
fn add_presigned_headers(query: &Query, headers: &mut HeaderMap) -> Result<(), StorageError> {
    const SIGNATURE_PARAMS: [&str; 8] = [
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
            || SIGNATURE_PARAMS.contains(&name.as_str());
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

fn mismatch() -> StorageError {
    let message = "The request signature does not match the signature made with the secret of this access key";
    StorageError::new(Code::SignatureDoesNotMatch, 403, message)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_at_the_ends_of_the_calendar_are_rejected() {
        let now = datetime!(2026-01-02 03:04:05 UTC);
        let week = Some(Duration::from_secs(
            crate::s3::signature::MAX_PRESIGNED_SECONDS.unsigned_abs(),
        ));
        let check = |at, lifetime, expected: Option<Code>| {
            let error = check_time(at, lifetime, now).err();
            assert_eq!(error.map(|error| error.code()), expected, "{at}");
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
