//! `[studio]`: the web console.

use crate::key::Key;
use crate::value::{Secret, WrittenUrl};

keys! {
    /// Serve the console.
    pub const ENABLED: Key<bool> = flag("studio.enabled", true).inert();

    /// Port of the official console.
    pub const PORT: Key<u16> = listen_port("studio.port", 54323).inert();

    /// URL at which the official console reaches the API.
    pub const API_URL: Key<WrittenUrl> = url("studio.api_url", "http://127.0.0.1").inert();

    /// OpenAI API key for its SQL assistant.
    pub const OPENAI_API_KEY: Key<Option<Secret>> = secret("studio.openai_api_key").inert();
}
