//! Endpoints of unsupported features. They respond as if the feature were disabled.

use axum::Json;
use serde_json::{Value, json};

use crate::{AuthError, caller::Admin};

/// `POST /sso`, `/sso/saml/…`
pub(crate) async fn saml() -> AuthError {
    AuthError::saml_disabled()
}

/// `GET /admin/sso/providers`: there are none.
pub(crate) async fn list_sso_providers(_admin: Admin) -> Json<Value> {
    Json(json!({ "items": [] }))
}

/// `/admin/sso/providers…`
pub(crate) async fn saml_for_admins(_admin: Admin) -> AuthError {
    saml().await
}

/// `POST /token?grant_type=web3`
pub(crate) fn web3() -> AuthError {
    AuthError::web3_disabled()
}

/// `/scim/v2/…`
pub(crate) async fn scim() -> AuthError {
    AuthError::scim_disabled()
}
