//! `[plinth.account]`: the pages on which people sign in and manage their account (client contract
//! U13).

use crate::key::Key;
use crate::profile_field::ProfileField;
use crate::value::WrittenUrl;

/// The languages that the pages are translated to (`web/src/visitor/texts/`).
const LANGUAGES_BUILT: &[&str] = &["en", "de", "es", "fr", "pt"];

keys! {
    /// URL path of the account pages, below the project's URL.
    pub const PATH: Key<String> = url_path("plinth.account.path", "/");

    /// Name of the service on the account pages and in mails.
    pub const TITLE: Key<Option<String>> = optional_text("plinth.account.title");

    /// Logo instead of the title: a URL, or a path on the same host.
    pub const LOGO: Key<Option<String>> = optional_text("plinth.account.logo");

    /// Colour of the primary buttons of the account pages and mails.
    pub const ACCENT: Key<Option<String>> = optional_accent("plinth.account.accent");

    /// Support page that the account pages link to.
    pub const SUPPORT_URL: Key<Option<WrittenUrl>> = optional_url("plinth.account.support_url");

    /// Terms of service that the account pages link to.
    pub const TERMS_URL: Key<Option<WrittenUrl>> = optional_url("plinth.account.terms_url");

    /// Privacy policy that the account pages link to.
    pub const PRIVACY_URL: Key<Option<WrittenUrl>> = optional_url("plinth.account.privacy_url");

    /// Require users to accept the terms when they sign up.
    pub const CONSENT: Key<bool> = flag("plinth.account.consent", false);

    /// Fields of the profile form, stored in the user's metadata.
    pub const PROFILE_FIELDS: Key<Vec<ProfileField>> =
        profile_fields("plinth.account.profile_fields");

    /// Languages of the account pages; browsers that want none of them get the first one.
    pub const LANGUAGES: Key<Vec<String>> =
        choices("plinth.account.languages", LANGUAGES_BUILT, LANGUAGES_BUILT);

    /// Site key (public) of the CAPTCHA on the account pages.
    pub const CAPTCHA_KEY: Key<Option<String>> = optional_text("plinth.account.captcha_key");

    /// Whether users can delete their account: `soft` keeps the row, `hard` deletes it.
    pub const SELF_DELETE: Key<String> =
        choice("plinth.account.self_delete", &["off", "soft", "hard"], "hard");
}
