//! The project as an OAuth 2.1 authorization server for other applications (auth contract §2.16).
//!
//! An application starts at `authorize`, the user approves or denies through `decisions`, and the
//! application gets its tokens at `token`. Such sessions have the application's id.

mod authorize;
mod credentials;
mod decisions;
mod enabled;
mod grants;
mod manage;
mod profile;
mod redirect_uri;
mod registration;
mod scopes;
mod token;

pub(crate) use authorize::authorize;
pub(crate) use decisions::{decide, show};
pub(crate) use grants::{list as list_grants, revoke as revoke_grant};
pub(crate) use manage::{
    delete as delete_client, list as list_clients, read as read_client, regenerate_secret,
    update as update_client,
};
pub(crate) use profile::userinfo;
pub(crate) use registration::{create as create_client, register};
pub(crate) use scopes::SUPPORTED as SUPPORTED_SCOPES;
pub(crate) use token::token;
