//! `[studio]`: the web console.

use crate::key::{Key, flag, listen_port, secret, url};

pub(super) const KEYS: &[Key] = &[
    flag("studio.enabled", true, "Serve the console."),
    listen_port("studio.port", 54323, "Port of the official console.").inert(),
    url(
        "studio.api_url",
        "http://127.0.0.1",
        "Address at which it reaches the API.",
    )
    .inert(),
    secret("studio.openai_api_key", "Key for its SQL assistant.").inert(),
];
