//! `[auth.hook.<name>]`: calls to the user's own code.

use super::maps::{Map, Members};
use crate::key::MemberKey;
use crate::value::Secret;

/// The hooks that there are.
pub const HOOKS: Map = Map::new("auth.hook", Members::Known(NAMES));

const NAMES: &[&str] = &[
    "mfa_verification_attempt",
    "password_verification_attempt",
    "custom_access_token",
    "send_sms",
    "send_email",
    "before_user_created",
    "after_user_created",
];

keys! {
    /// Call this hook.
    pub const ENABLED: MemberKey<bool> = flag("auth.hook.*.enabled", false);

    // Plain text: files carry placeholders here while the hook is off.
    /// Database function (`pg-functions://…`) or HTTP URL to call.
    pub const URI: MemberKey<Option<String>> = optional_text("auth.hook.*.uri");

    /// Secrets that sign calls to an HTTP URL.
    pub const SECRETS: MemberKey<Option<Secret>> = secret("auth.hook.*.secrets");
}
