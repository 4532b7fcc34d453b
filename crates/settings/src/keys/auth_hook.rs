//! `[auth.hook.<name>]`: calls to the user's own code.

use crate::key::{Key, flag, optional_text, secret};

pub(super) const HOOKS: &[&str] = &[
    "mfa_verification_attempt",
    "password_verification_attempt",
    "custom_access_token",
    "send_sms",
    "send_email",
    "before_user_created",
    "after_user_created",
];

pub(super) const KEYS: &[Key] = &[
    flag("auth.hook.*.enabled", false, "Call this hook."),
    // Plain text: files carry placeholders here while the hook is off.
    optional_text(
        "auth.hook.*.uri",
        "Database function (pg-functions://…) or HTTP address.",
    ),
    secret(
        "auth.hook.*.secrets",
        "Secrets that sign the call to an HTTP address.",
    ),
];
