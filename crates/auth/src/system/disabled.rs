//! Features that a client may ask for and that this server does not have yet: it answers as one
//! that has them switched off.

use crate::{AuthError, error::Code, request::Admin};

/// `POST /sso`, `/sso/saml/…`
pub(crate) async fn saml() -> AuthError {
    AuthError::new(404, Code::SamlProviderDisabled, "SAML 2.0 is disabled")
}

/// `/admin/sso/providers…`
pub(crate) async fn saml_for_admins(_admin: Admin) -> AuthError {
    saml().await
}

/// `POST /token?grant_type=web3`
pub(crate) fn web3() -> AuthError {
    AuthError::new(422, Code::Web3ProviderDisabled, "Web3 provider is disabled")
}

/// `/scim/v2/…`
pub(crate) async fn scim() -> AuthError {
    AuthError::new(404, Code::FeatureDisabled, "SCIM is disabled")
}
