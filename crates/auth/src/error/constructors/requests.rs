//! Requests that cannot be processed, whatever they ask for: routes, bodies, limits, features that
//! are switched off.

use std::{borrow::Cow, fmt::Display};

use super::{AuthError, Code, errors, internal_errors};

errors! {
    route_not_found() => 404 Unknown, "Requested path is invalid";
    method_not_allowed() => 405 Unknown, "Method not allowed";
    body_too_large() => 413 RequestEntityTooLarge, "Request body is larger than 1 MiB";
    bad_json(reason: impl Display) => 400 BadJson,
        format!("Could not parse request body as JSON: {reason}");

    /// A field or parameter breaks a rule.
    validation_failed(text: impl Into<Cow<'static, str>>) => 400 ValidationFailed, text;
    field_required(name: &str) => 400 ValidationFailed, format!("{name} is required");
    invalid_path_id(name: &str) => 404 ValidationFailed, format!("{name} must be a UUID");
    audience_mismatch() => 400 ValidationFailed, AUDIENCE_MISMATCH;
    unexpected_audience() => 403 UnexpectedAudience, AUDIENCE_MISMATCH;

    request_timeout() => 504 RequestTimeout,
        "Processing this request timed out, please retry after a moment.";
    pool_timeout() => 504 RequestTimeout, "Timed out waiting for the database";
    /// The queue of passwords that wait to be hashed is full.
    hash_queue_full() => 503 RequestTimeout,
        "Too many passwords are being checked at the moment, try again shortly";
    over_request_rate_limit() => 429 OverRequestRateLimit, "Request rate limit reached";
    captcha_failed(reason: &str) => 400 CaptchaFailed,
        format!("captcha protection: request disallowed ({reason})");

    saml_disabled() => 404 SamlProviderDisabled, "SAML 2.0 is disabled";
    web3_disabled() => 422 Web3ProviderDisabled, "Web3 provider is disabled";
    scim_disabled() => 404 FeatureDisabled, "SCIM is disabled";
}

internal_errors! {
    unexpected => "Unexpected failure";
    captcha_unavailable => "captcha verification process failed";
}

const AUDIENCE_MISMATCH: &str = "Token audience doesn't match request audience";
