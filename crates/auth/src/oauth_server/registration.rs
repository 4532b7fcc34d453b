//! `POST /admin/oauth/clients` and `POST /oauth/clients/register`: registers applications.

use axum::{Json, response::IntoResponse};
use http::StatusCode;
use serde::Deserialize;
use url::Url;

use super::{enabled::Enabled, redirect_uri};
use crate::{
    AuthError,
    caller::Admin,
    model::oauth_clients::{self, AuthMethod, Client, ClientBody},
    random,
    rate_limit::{self, Bucket},
    request::{Input, RequestContext},
};

const MAX_REDIRECT_URIS: usize = 10;
const MAX_NAME_CHARACTERS: usize = 1024;
const MAX_URI_CHARACTERS: usize = 2048;
const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RegisterParams {
    redirect_uris: Vec<String>,
    client_type: String,
    token_endpoint_auth_method: String,
    grant_types: Vec<String>,
    client_name: String,
    client_uri: String,
    logo_uri: String,
}

/// `POST /admin/oauth/clients`
pub(crate) async fn create(
    _admin: Admin,
    Enabled(context): Enabled,
    Input(params): Input<RegisterParams>,
) -> Result<impl IntoResponse, AuthError> {
    insert(&context, params, false).await
}

/// `POST /oauth/clients/register`: without authentication, if dynamic registration is enabled.
pub(crate) async fn register(
    Enabled(context): Enabled,
    Input(params): Input<RegisterParams>,
) -> Result<impl IntoResponse, AuthError> {
    if !context.config.oauth_server.allows_dynamic_registration {
        return Err(AuthError::dynamic_registration_disabled());
    }
    rate_limit::check(&context, Bucket::ClientRegistration)?;
    insert(&context, params, true).await
}

async fn insert(
    context: &RequestContext,
    params: RegisterParams,
    is_dynamic: bool,
) -> Result<(StatusCode, Json<ClientBody>), AuthError> {
    let mut client = params.client(context, is_dynamic)?;
    let secret = (!client.is_public).then(|| client.regenerate_secret());
    let mut db = context.db().await?;
    oauth_clients::insert(&mut db, &client).await?;
    let body = ClientBody::new(client, secret);
    Ok((StatusCode::CREATED, Json(body)))
}

impl RegisterParams {
    fn client(self, context: &RequestContext, is_dynamic: bool) -> Result<Client, AuthError> {
        let auth_method = self.auth_method()?;
        check_redirect_uris(&self.redirect_uris)?;
        if !self.grant_types.is_empty() {
            check_grant_types(&self.grant_types)?;
        }
        check_name(&self.client_name)?;
        check_uri("client_uri", &self.client_uri)?;
        check_uri("logo_uri", &self.logo_uri)?;
        Ok(Client {
            id: random::uuid(),
            secret_hash: String::new(),
            is_dynamic,
            is_public: auth_method.is_public(),
            auth_method,
            redirect_uris: self.redirect_uris,
            grant_types: if self.grant_types.is_empty() {
                GRANT_TYPES.map(str::to_owned).to_vec()
            } else {
                self.grant_types
            },
            name: self.client_name,
            uri: self.client_uri,
            logo_uri: self.logo_uri,
            created_at: context.now,
            updated_at: context.now,
        })
    }

    /// The authentication method, or the default of the client type; they must match.
    fn auth_method(&self) -> Result<AuthMethod, AuthError> {
        let is_public = match self.client_type.as_str() {
            "" => None,
            "public" => Some(true),
            "confidential" => Some(false),
            _ => {
                return Err(AuthError::validation_failed(
                    "client_type must be 'public' or 'confidential'",
                ));
            }
        };
        if self.token_endpoint_auth_method.is_empty() {
            return Ok(match is_public {
                Some(true) => AuthMethod::None,
                _ => AuthMethod::Basic,
            });
        }
        let method = auth_method(&self.token_endpoint_auth_method)?;
        if is_public.is_none_or(|is_public| is_public == method.is_public()) {
            Ok(method)
        } else {
            Err(AuthError::validation_failed(format!(
                "client_type '{}' is inconsistent with token_endpoint_auth_method '{}'",
                self.client_type,
                method.as_str()
            )))
        }
    }
}

pub(super) fn auth_method(text: &str) -> Result<AuthMethod, AuthError> {
    AuthMethod::parse(text).ok_or_else(|| {
        AuthError::validation_failed(
            "token_endpoint_auth_method must be one of: none, client_secret_basic, \
             client_secret_post",
        )
    })
}

pub(super) fn check_redirect_uris(uris: &[String]) -> Result<(), AuthError> {
    if uris.is_empty() {
        return Err(AuthError::field_required("redirect_uris"));
    }
    if uris.len() > MAX_REDIRECT_URIS {
        return Err(AuthError::validation_failed(
            "redirect_uris cannot exceed 10 items",
        ));
    }
    for uri in uris {
        redirect_uri::check(uri).map_err(|reason| {
            AuthError::validation_failed(format!("invalid redirect_uri '{uri}': {reason}"))
        })?;
    }
    Ok(())
}

pub(super) fn check_grant_types(types: &[String]) -> Result<(), AuthError> {
    if types.is_empty() {
        return Err(AuthError::validation_failed("grant_types cannot be empty"));
    }
    let is_known = |grant: &String| GRANT_TYPES.contains(&grant.as_str());
    if types.iter().all(is_known) {
        Ok(())
    } else {
        Err(AuthError::validation_failed(
            "grant_types must only contain 'authorization_code' and/or 'refresh_token'",
        ))
    }
}

pub(super) fn check_name(name: &str) -> Result<(), AuthError> {
    if name.chars().count() <= MAX_NAME_CHARACTERS {
        Ok(())
    } else {
        Err(AuthError::validation_failed(
            "client_name cannot exceed 1024 characters",
        ))
    }
}

/// Links and logos are shown to users, so they must be http(s) URLs.
pub(super) fn check_uri(what: &'static str, uri: &str) -> Result<(), AuthError> {
    if uri.is_empty() {
        return Ok(());
    }
    if uri.chars().count() > MAX_URI_CHARACTERS {
        let message = format!("{what} cannot exceed 2048 characters");
        return Err(AuthError::validation_failed(message));
    }
    let url = Url::parse(uri).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    match url {
        Some(_) => Ok(()),
        None => Err(AuthError::validation_failed(format!(
            "{what} must be a valid URL"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_method_go_together() {
        let check = |client_type: &str, method: &str, expected: Option<AuthMethod>| {
            let params = RegisterParams {
                client_type: client_type.to_owned(),
                token_endpoint_auth_method: method.to_owned(),
                ..RegisterParams::default()
            };
            let found = params.auth_method().ok();
            assert_eq!(found, expected, "{client_type} {method}");
        };
        check("", "", Some(AuthMethod::Basic));
        check("public", "", Some(AuthMethod::None));
        check("confidential", "", Some(AuthMethod::Basic));
        check("", "none", Some(AuthMethod::None));
        check("", "client_secret_post", Some(AuthMethod::Post));
        check("public", "none", Some(AuthMethod::None));
        check("public", "client_secret_basic", None);
        check("confidential", "none", None);
        check("secret", "", None);
        check("", "private_key_jwt", None);
    }

    #[test]
    fn lists_are_neither_empty_nor_endless() {
        let uris = |count| vec!["https://app.example/cb".to_owned(); count];
        assert!(check_redirect_uris(&uris(1)).is_ok());
        assert!(check_redirect_uris(&uris(10)).is_ok());
        assert!(check_redirect_uris(&uris(0)).is_err());
        assert!(check_redirect_uris(&uris(11)).is_err());
        assert!(check_grant_types(&["refresh_token".to_owned()]).is_ok());
        assert!(check_grant_types(&["password".to_owned()]).is_err());
        assert!(check_grant_types(&[]).is_err());
    }

    #[test]
    fn pages_are_of_the_web() {
        assert!(check_uri("client_uri", "").is_ok());
        assert!(check_uri("client_uri", "https://app.example").is_ok());
        for uri in ["app.example", "javascript:alert(1)", "data:text/html,x"] {
            assert!(check_uri("logo_uri", uri).is_err(), "{uri}");
        }
    }
}
