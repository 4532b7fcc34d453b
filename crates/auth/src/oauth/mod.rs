//! Sign-in through other services (auth contract §2.8, §2.9, §2.15, §5, §6).
//!
//! `providers/` is the table of those that are built in; `custom/` holds those that are defined
//! over the API. `authorize` sends people to one, `callback` takes them back, `id_token` takes
//! what a client got from one by itself; `account/` decides whose account it is.

mod account;
mod authorize;
mod callback;
mod client_states;
pub(crate) mod custom;
mod exchange;
mod guard;
pub(crate) mod id_token;
mod meeting;
mod oauth1;
mod oidc;
mod person;
mod provider;
mod providers;
mod redirects;
mod web;

pub(crate) use account::unlink::unlink;
pub(crate) use authorize::{authorize, link};
pub(crate) use callback::callback;
pub(crate) use oidc::Discovery;
