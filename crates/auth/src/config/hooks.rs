//! Calls to the user's own code (auth contract §9).

use plinth_token::Secret;
use url::Url;

/// `HOOK_<NAME>_*`; `None` while a hook is off.
#[derive(Debug, Clone, Default)]
pub(crate) struct HooksConfig {
    pub(crate) custom_access_token: Option<Hook>,
    pub(crate) send_email: Option<Hook>,
    pub(crate) send_sms: Option<Hook>,
    pub(crate) mfa_verification_attempt: Option<Hook>,
    pub(crate) password_verification_attempt: Option<Hook>,
    pub(crate) before_user_created: Option<Hook>,
    pub(crate) after_user_created: Option<Hook>,
}

/// One hook.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) target: HookTarget,
    /// Each of them signs the call; HTTP only.
    pub(crate) secrets: Vec<Secret>,
}

/// Where the code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookTarget {
    /// `pg-functions://<database>/<schema>/<function>`
    Function { schema: String, name: String },
    /// An HTTP address.
    Http(Url),
}
