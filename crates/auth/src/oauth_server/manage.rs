//! `/admin/oauth/clients`: administration of registered applications.

use axum::{
    Json,
    extract::{Path, RawQuery, rejection::PathRejection},
    response::IntoResponse,
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{
    enabled::Enabled,
    registration::{auth_method, check_grant_types, check_name, check_redirect_uris, check_uri},
};
use crate::{
    AuthError,
    caller::Admin,
    model::oauth_clients::{self, Client, ClientBody},
    request::Input,
    request::page::{Page, find_value, parse_pairs},
};

/// `{client_id}` of the path, which may be malformed.
type ClientPath = Result<Path<Uuid>, PathRejection>;

/// `GET /admin/oauth/clients`: all, or one page.
pub(crate) async fn list(
    _admin: Admin,
    Enabled(context): Enabled,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, AuthError> {
    let params = parse_pairs(query.as_deref());
    let page = Page::parse(&params)?;
    let is_paged = find_value(&params, "page")
        .or(find_value(&params, "per_page"))
        .is_some();
    let (limit, offset) = if is_paged {
        (Some(page.limit()), page.offset())
    } else {
        (None, 0)
    };
    let mut db = context.db().await?;
    let total = oauth_clients::count(&mut db).await?;
    let found = oauth_clients::list(&mut db, limit, offset).await?;
    let bodies = found
        .into_iter()
        .map(|client| ClientBody::new(client, None));
    let body = json!({ "clients": bodies.collect::<Vec<_>>() });
    let page = if is_paged { page } else { Page::single(total) };
    let headers = page.headers("/admin/oauth/clients", &params, total);
    Ok((headers, Json(body)))
}

/// `GET /admin/oauth/clients/{client_id}`
pub(crate) async fn read(
    _admin: Admin,
    Enabled(context): Enabled,
    path: ClientPath,
) -> Result<Json<ClientBody>, AuthError> {
    let id = client_id(path)?;
    let mut db = context.db().await?;
    let client = oauth_clients::find(&mut db, id)
        .await?
        .ok_or_else(AuthError::oauth_client_not_found)?;
    Ok(Json(ClientBody::new(client, None)))
}

/// Absent fields are unchanged.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UpdateParams {
    redirect_uris: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    client_name: Option<String>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// `PUT /admin/oauth/clients/{client_id}`
pub(crate) async fn update(
    _admin: Admin,
    Enabled(context): Enabled,
    path: ClientPath,
    Input(params): Input<UpdateParams>,
) -> Result<Json<ClientBody>, AuthError> {
    let id = client_id(path)?;
    let mut db = context.begin().await?;
    let mut client = oauth_clients::lock(&mut db, id)
        .await?
        .ok_or_else(AuthError::oauth_client_not_found)?;
    params.apply(&mut client)?;
    client.updated_at = context.now;
    oauth_clients::update(&mut db, &client).await?;
    db.commit().await?;
    Ok(Json(ClientBody::new(client, None)))
}

impl UpdateParams {
    fn apply(self, client: &mut Client) -> Result<(), AuthError> {
        if self.is_empty() {
            return Err(AuthError::validation_failed(
                "No fields provided for update",
            ));
        }
        if let Some(uris) = self.redirect_uris {
            check_redirect_uris(&uris)?;
            client.redirect_uris = uris;
        }
        if let Some(types) = self.grant_types {
            check_grant_types(&types)?;
            client.grant_types = types;
        }
        if let Some(name) = self.client_name {
            check_name(&name)?;
            client.name = name;
        }
        if let Some(uri) = self.client_uri {
            check_uri("client_uri", &uri)?;
            client.uri = uri;
        }
        if let Some(uri) = self.logo_uri {
            check_uri("logo_uri", &uri)?;
            client.logo_uri = uri;
        }
        if let Some(text) = self.token_endpoint_auth_method {
            let method = auth_method(&text)?;
            if method.is_public() != client.is_public {
                return Err(AuthError::validation_failed(format!(
                    "token_endpoint_auth_method '{text}' is not valid for the client's type"
                )));
            }
            client.auth_method = method;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.redirect_uris.is_none()
            && self.grant_types.is_none()
            && self.client_name.is_none()
            && self.client_uri.is_none()
            && self.logo_uri.is_none()
            && self.token_endpoint_auth_method.is_none()
    }
}

/// `DELETE /admin/oauth/clients/{client_id}`
pub(crate) async fn delete(
    _admin: Admin,
    Enabled(context): Enabled,
    path: ClientPath,
) -> Result<StatusCode, AuthError> {
    let id = client_id(path)?;
    let mut db = context.db().await?;
    if oauth_clients::delete(&mut db, id, context.now).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(AuthError::oauth_client_not_found())
    }
}

/// `POST /admin/oauth/clients/{client_id}/regenerate_secret`
pub(crate) async fn regenerate_secret(
    _admin: Admin,
    Enabled(context): Enabled,
    path: ClientPath,
) -> Result<Json<ClientBody>, AuthError> {
    let id = client_id(path)?;
    let mut db = context.begin().await?;
    let mut client = oauth_clients::lock(&mut db, id)
        .await?
        .ok_or_else(AuthError::oauth_client_not_found)?;
    if client.is_public {
        return Err(AuthError::validation_failed(
            "Cannot regenerate secret for public client",
        ));
    }
    let secret = client.regenerate_secret();
    client.updated_at = context.now;
    oauth_clients::update(&mut db, &client).await?;
    db.commit().await?;
    Ok(Json(ClientBody::new(client, Some(secret))))
}

fn client_id(path: ClientPath) -> Result<Uuid, AuthError> {
    let Path(id) = path.map_err(|_| AuthError::malformed_client_id())?;
    Ok(id)
}
