//! Sign-in through external OAuth and OpenID Connect providers (auth contract §2.8, §2.9, §2.15,
//! §5, §6).
//!
//! `providers/` is the table of built-in providers; `custom/` has those defined over the API.
//! `authorize` redirects to a provider, `callback` handles the redirect back, `id_token` signs in
//! with an ID token from a client; `account/` finds or creates the user.

mod account;
mod authorize;
mod callback;
pub(crate) mod custom;
mod exchange;
mod http_client;
pub(crate) mod id_token;
mod identify;
mod oauth1;
mod oidc;
mod profile_reader;
mod provider;
mod providers;
mod redirects;
mod ssrf;

pub(crate) use account::unlink::unlink;
pub(crate) use authorize::{authorize, link};
pub(crate) use callback::callback;
pub(crate) use oidc::Discovery;
