//! `[auth.mfa]`: second factors.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{Key, duration, flag, integer, text};

pub(super) const KEYS: &[Key] = &[
    integer(
        "auth.mfa.max_enrolled_factors",
        COUNT,
        10,
        "Most second factors of one user.",
    ),
    flag(
        "auth.mfa.totp.enroll_enabled",
        true,
        "Let users add an authenticator app.",
    ),
    flag(
        "auth.mfa.totp.verify_enabled",
        true,
        "Accept codes of authenticator apps.",
    ),
    flag(
        "auth.mfa.phone.enroll_enabled",
        false,
        "Let users add a phone as second factor.",
    ),
    flag(
        "auth.mfa.phone.verify_enabled",
        false,
        "Accept codes sent to a phone.",
    ),
    integer(
        "auth.mfa.phone.otp_length",
        AT_LEAST_ONE,
        6,
        "Digits of a code sent to a phone.",
    ),
    text(
        "auth.mfa.phone.template",
        "Your code is {{ .Code }}",
        "Text of the message.",
    ),
    duration(
        "auth.mfa.phone.max_frequency",
        "5s",
        "Shortest time between two messages.",
    ),
    flag(
        "auth.mfa.web_authn.enroll_enabled",
        false,
        "Let users add a security key.",
    ),
    flag(
        "auth.mfa.web_authn.verify_enabled",
        false,
        "Accept security keys.",
    ),
];
