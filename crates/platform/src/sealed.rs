//! Secrets at rest: encrypted with the instance key and bound to their project and purpose.

use plinth_project::{Logins, ProjectRef};
use plinth_token::{InstanceKey, SealError, Secret};

/// Purpose of a sealed secret. Purpose and ref are authenticated, so that a sealed text cannot be
/// moved to another row or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealed<'a> {
    OwnerPassword,
    AuthenticatorPassword,
    ServicePassword,
    JwtSecret,
    ApiKey,
    SigningKey,
    S3SecretKey,
    /// The environment variable of this name.
    FunctionSecret(&'a str),
    /// The stored setting of this name.
    Setting(&'a str),
}

impl Sealed<'_> {
    fn context(self, reference: &ProjectRef) -> String {
        let what = match self {
            Self::OwnerPassword => "owner_password",
            Self::AuthenticatorPassword => "authenticator_password",
            Self::ServicePassword => "service_password",
            Self::JwtSecret => "jwt_secret",
            Self::ApiKey => "api_key",
            Self::SigningKey => "signing_key",
            Self::S3SecretKey => "s3_secret_key",
            Self::FunctionSecret(name) => {
                return format!("project:{reference}:function_secret:{name}");
            }
            Self::Setting(name) => return format!("project:{reference}:setting:{name}"),
        };
        format!("project:{reference}:{what}")
    }

    pub(crate) fn seal(self, key: &InstanceKey, reference: &ProjectRef, secret: &Secret) -> String {
        key.seal(&self.context(reference), secret.expose().as_bytes())
    }

    pub(crate) fn open(
        self,
        key: &InstanceKey,
        reference: &ProjectRef,
        sealed: &str,
    ) -> Result<Secret, SealError> {
        key.open_text(&self.context(reference), sealed)
    }
}

/// The stored passwords of a project, sealed. That of `migrator_<ref>` is derived from the instance key.
pub(crate) struct SealedLogins {
    pub(crate) owner: String,
    pub(crate) authenticator: String,
    pub(crate) service: String,
}

impl SealedLogins {
    pub(crate) fn seal(key: &InstanceKey, reference: &ProjectRef, logins: &Logins) -> Self {
        Self {
            owner: Sealed::OwnerPassword.seal(key, reference, &logins.owner),
            authenticator: Sealed::AuthenticatorPassword.seal(
                key,
                reference,
                &logins.authenticator,
            ),
            service: Sealed::ServicePassword.seal(key, reference, &logins.service),
        }
    }

    pub(crate) fn open(
        &self,
        key: &InstanceKey,
        reference: &ProjectRef,
    ) -> Result<Logins, SealError> {
        Ok(Logins {
            owner: Sealed::OwnerPassword.open(key, reference, &self.owner)?,
            migrator: migrator_password(key, reference),
            authenticator: Sealed::AuthenticatorPassword.open(
                key,
                reference,
                &self.authenticator,
            )?,
            service: Sealed::ServicePassword.open(key, reference, &self.service)?,
        })
    }
}

/// Only Plinth uses it, so it need not be stored.
pub(crate) fn migrator_password(key: &InstanceKey, reference: &ProjectRef) -> Secret {
    key.derive(&format!("project:{reference}:migrator_password"))
}
