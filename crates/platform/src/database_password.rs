//! The password with which a project's owner connects.
//!
//! The owner may change it with SQL, as on the hosted service (`alter role postgres password …`);
//! then Plinth does not know it, and connection strings show a placeholder. An operator can set a new
//! one.

use plinth_project::{LoginKind, ProjectName, ProjectRef, ProjectServers as _, ServerName, logins};
use plinth_token::{Secret, generate_password, matches_scram_verifier};

use crate::{Platform, PlatformError, sealed::Sealed};

/// Stands for a password that only the owner knows.
pub(crate) const PASSWORD_PLACEHOLDER: &str = "[YOUR-PASSWORD]";
const MAX_PASSWORD_CHARS: usize = 256;

impl Platform {
    /// Sets the password of the project's owner, or generates one. Open sessions stay.
    pub async fn set_database_password(
        &self,
        project: &ProjectName,
        password: Option<&str>,
    ) -> Result<(), PlatformError> {
        let reference = self.load_project(project).await?.reference;
        if !self.0.cluster.has_owner_logins || !self.0.owns_default_database {
            return Err(PlatformError::Invalid(
                "On an external PostgreSQL a project's owner has no password of its own; connect \
                 with the roles of that server"
                    .to_owned(),
            ));
        }
        let password = match password {
            Some(password) => checked_password(password)?,
            None => generate_password(),
        };
        self.store_owner_password(&reference, &password).await
    }

    pub(crate) async fn store_owner_password(
        &self,
        reference: &ProjectRef,
        password: &Secret,
    ) -> Result<(), PlatformError> {
        let sealed = Sealed::OwnerPassword.seal(&self.0.instance_key, reference, password);
        // Before the transaction: a server may have to be started.
        let isolated = match self.server_name(reference).await? {
            ServerName::Shared => None,
            isolated => Some(self.server(&isolated).await?),
        };
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let sql = "update platform.projects set sealed_owner_password = $2 where ref = $1";
        transaction
            .execute(sql, &[&reference.as_str(), &sealed])
            .await?;
        let password_sql = logins::password_sql(LoginKind::Owner, reference, password);
        match isolated {
            None => transaction.batch_execute(&password_sql).await?,
            // Not one transaction: if the second commit fails, the password is shown as unknown.
            Some(server) => {
                let admin = server.administrator().connect().await?;
                admin.batch_execute(&password_sql).await?;
            }
        }
        Ok(transaction.commit().await?)
    }

    /// The stored password of the project's owner; `None` if the owner has changed it since.
    pub(crate) async fn owner_password(
        &self,
        reference: &ProjectRef,
    ) -> Result<Option<Secret>, PlatformError> {
        let sql = "select sealed_owner_password from platform.projects where ref = $1";
        let tables = self.tables().await?;
        let row = tables.query_one(sql, &[&reference.as_str()]).await?;
        let stored = Sealed::OwnerPassword
            .open(&self.0.instance_key, reference, row.get(0))
            .map_err(PlatformError::caused_by)?;
        if !self.0.cluster.is_superuser {
            return Ok(Some(stored));
        }
        let sql = "select rolpassword from pg_catalog.pg_authid where rolname = $1";
        let role = LoginKind::Owner.role_name(reference);
        // Not held while a server starts.
        drop(tables);
        let row = match self.server_name(reference).await? {
            ServerName::Shared => self.tables().await?.query_opt(sql, &[&role]).await?,
            isolated => {
                let admin = self
                    .server(&isolated)
                    .await?
                    .administrator()
                    .connect()
                    .await?;
                admin.query_opt(sql, &[&role]).await?
            }
        };
        let verifier = row.and_then(|row| row.get::<_, Option<String>>(0));
        let matches = matches_scram_verifier(&stored, verifier.as_deref().unwrap_or_default());
        Ok((matches != Some(false)).then_some(stored))
    }
}

fn checked_password(password: &str) -> Result<Secret, PlatformError> {
    let length = password.chars().count();
    if (1..=MAX_PASSWORD_CHARS).contains(&length) && !password.chars().any(char::is_control) {
        Ok(Secret::new(password))
    } else {
        Err(PlatformError::Invalid(format!(
            "A database password has 1 to {MAX_PASSWORD_CHARS} characters and no control characters"
        )))
    }
}
