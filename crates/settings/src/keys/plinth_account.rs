//! `[plinth.account]`: the pages on which people sign in and manage their account (client contract
//! U13).

use crate::key::{
    Key, choice, flag, optional_accent, optional_text, optional_url, records, text, url_path,
};

pub(super) const KEYS: &[Key] = &[
    url_path(
        "plinth.account.path",
        "/",
        "Where the account pages are, below the project's URL.",
    ),
    text(
        "plinth.account.title",
        "Your account",
        "What the account pages call this service.",
    ),
    optional_text(
        "plinth.account.logo",
        "Picture instead of the title: a URL, or a path on the same host.",
    ),
    optional_accent(
        "plinth.account.accent",
        "Colour of the main buttons of the account pages.",
    ),
    optional_url(
        "plinth.account.support_url",
        "Where people find help; linked from the account pages.",
    ),
    optional_url(
        "plinth.account.terms_url",
        "Terms of service; linked from the account pages.",
    ),
    optional_url(
        "plinth.account.privacy_url",
        "Privacy policy; linked from the account pages.",
    ),
    flag(
        "plinth.account.consent",
        false,
        "Let people agree to the terms when they sign up.",
    ),
    records(
        "plinth.account.profile_fields",
        &["key", "label", "required", "max"],
        "What people say about themselves, kept in their metadata.",
    ),
    optional_text(
        "plinth.account.captcha_key",
        "Public key of the CAPTCHA, which the account pages show.",
    ),
    choice(
        "plinth.account.self_delete",
        &["off", "soft", "hard"],
        "hard",
        "Whether users can delete their account, and whether its row goes too.",
    ),
];
