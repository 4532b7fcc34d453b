//! `[api]`: the HTTP entrance and the REST API.

use super::COUNT;
use crate::key::{
    Key, flag, integer, list, listen_port, optional_flag, optional_path, optional_url,
};

pub(super) const KEYS: &[Key] = &[
    flag("api.enabled", true, "Serve the REST API."),
    listen_port("api.port", 54321, "Port of the API and the web pages."),
    list(
        "api.schemas",
        &["public", "graphql_public"],
        "Schemas whose tables, views and functions the REST API exposes.",
    ),
    list(
        "api.extra_search_path",
        &["public", "extensions"],
        "Schemas added to the search path of every REST request.",
    ),
    integer(
        "api.max_rows",
        COUNT,
        1000,
        "Most rows that one REST request returns.",
    ),
    optional_flag(
        "api.auto_expose_new_tables",
        "Grant the API roles access to what `postgres` creates in `public`; unset means yes.",
    ),
    flag("api.tls.enabled", false, "Serve HTTPS instead of HTTP."),
    optional_path(
        "api.tls.cert_path",
        "Certificate for HTTPS; without one it is self-signed.",
    ),
    optional_path("api.tls.key_path", "Private key of the certificate."),
    optional_url("api.external_url", "URL under which clients reach the API."),
];
