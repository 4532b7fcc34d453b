//! Administration with the project's service key (client contract §1.14).
//!
//! An [`AdminClient`] is a separate type, so that a program with only the anonymous key has no admin methods. It has no
//! session.

mod attributes;
mod link;
mod list;
mod oauth_clients;
mod providers;
mod user;

use serde_json::json;

use super::api::Call;
use super::{AuthApi, AuthError, Scope};
use crate::call_options::{CallOptions, with_handle_options};
use crate::http::Http;
use crate::project_url::ProjectUrl;
pub use attributes::{CreateUserRequest, UpdateUserByIdRequest};
pub use link::{GenerateLinkRequest, GeneratedLink, InviteRequest, LinkType};
pub use list::{ListUsersRequest, UserPage};
pub use oauth_clients::{
    ListOauthClientsRequest, OauthClient, OauthClientPage, OauthClientRequest, OauthClients,
};
pub use providers::{CustomProvider, CustomProviders, ProviderRequest, ProviderType};
pub use user::{AdminFactors, AdminPasskeys, AdminUser, DeleteUserRequest};

/// Manages the users of a project. Keep its key on servers.
///
/// ```no_run
/// # async fn example(service_key: &str) -> Result<(), plinth_client::AuthError> {
/// let admin = plinth_client::AdminClient::new("http://localhost:54321", service_key)?;
///
/// let user = admin.users().create().email("ada@example.com").email_confirmed().send().await?;
/// admin.users().delete(user.id()).send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AdminClient {
    api: AuthApi,
}

with_handle_options!(AdminClient, Users);

impl AdminClient {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            api: self.api.with_options(options),
        }
    }

    /// With the project's URL and its service key.
    pub fn new(project_url: &str, service_key: &str) -> Result<Self, AuthError> {
        Self::with_http(project_url, service_key, Http::new())
    }

    /// The same with another transport.
    pub fn with_http(project_url: &str, service_key: &str, http: Http) -> Result<Self, AuthError> {
        let url = ProjectUrl::parse(project_url)?;
        Ok(Self {
            api: AuthApi::new(&url, service_key, http),
        })
    }

    /// All users.
    pub fn users(&self) -> Users {
        Users {
            api: self.api.clone(),
        }
    }

    /// Factors and passkeys of one user.
    pub fn user(&self, id: &str) -> AdminUser {
        AdminUser::new(&self.api, id)
    }

    /// OAuth clients of the project's OAuth server.
    pub fn oauth_clients(&self) -> OauthClients {
        OauthClients::new(&self.api)
    }

    /// Custom identity providers.
    pub fn providers(&self) -> CustomProviders {
        CustomProviders::new(&self.api)
    }

    /// Ends sessions of the user of a token.
    pub async fn sign_out(&self, token: &str, scope: Scope) -> Result<(), AuthError> {
        self.api.sign_out(token, scope).await
    }

    /// The stateless API with the service key.
    pub fn api(&self) -> &AuthApi {
        &self.api
    }
}

/// The accounts of a project; see [`AdminClient::users`].
#[derive(Clone, Debug)]
pub struct Users {
    api: AuthApi,
}

impl Users {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            api: self.api.with_options(options),
        }
    }

    /// Creates a user, without sending anything.
    pub fn create(&self) -> CreateUserRequest {
        CreateUserRequest::new(&self.api)
    }

    /// One user.
    pub async fn get(&self, id: &str) -> Result<crate::User, AuthError> {
        self.api.user_of(Call::get(user_path(id, "")?)).await
    }

    /// A page of users.
    pub fn list(&self) -> ListUsersRequest {
        ListUsersRequest::new(&self.api)
    }

    /// Changes a user.
    pub fn update(&self, id: &str) -> UpdateUserByIdRequest {
        UpdateUserByIdRequest::new(&self.api, id)
    }

    /// Removes a user.
    pub fn delete(&self, id: &str) -> DeleteUserRequest {
        DeleteUserRequest::new(&self.api, id)
    }

    /// Creates a user and sends an invitation link.
    pub fn invite(&self, email: impl Into<String>) -> InviteRequest {
        InviteRequest::new(&self.api, email.into())
    }

    /// Generates a link that would otherwise be sent by e-mail.
    pub fn generate_link(&self, link: LinkType) -> GenerateLinkRequest {
        GenerateLinkRequest::new(&self.api, link)
    }
}

/// The path of a user. Ids are checked before anything is sent (S79): an invalid one would change the path.
fn user_path(id: &str, rest: &str) -> Result<String, AuthError> {
    Ok(format!("/admin/users/{}{rest}", checked_id(id)?))
}

fn checked_id(id: &str) -> Result<&str, AuthError> {
    let is_uuid = id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        Ok(id)
    } else {
        Err(AuthError::InvalidInput(
            "Expected parameter to be UUID but is not",
        ))
    }
}

/// The body of a removal.
fn removal(is_soft: bool) -> serde_json::Value {
    json!({ "should_soft_delete": is_soft })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s79_ids_must_be_uuids() {
        assert!(checked_id("0b30557a-9fc4-e90e-3358-7da2c7ec1136").is_ok());
        for id in [
            "",
            "x",
            "../admin",
            "0b30557a9fc4e90e33587da2c7ec1136",
            &"-".repeat(36),
        ] {
            assert!(checked_id(id).is_err(), "{id}");
        }
    }
}
