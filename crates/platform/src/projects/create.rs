//! `projects create`: a row, a server if the project is isolated, a copy of the template, its logins.
//!
//! The row is inserted first, as COMING_UP, so that a failed creation can be cleaned up.

use plinth_project::{
    LoginKind, Logins, ProjectKind, ProjectRef, ProjectServer, ProjectServers as _, ProjectStatus,
    ServerName, logins,
};
use plinth_token::{InstanceKey, Secret, generate_jwt_secret};
use tokio_postgres::{Client, Transaction};

use super::ProjectRow;
use crate::{
    Platform, PlatformError, databases, keys,
    organizations::FIRST_ORGANIZATION,
    sealed::{Sealed, SealedLogins, derived_password},
};

/// Parameters of a new project.
#[derive(Debug, Clone, Default)]
pub struct ProjectRequest {
    /// What people call it: 1 to 256 characters, not unique.
    pub name: String,
    /// The database owner's password; generated when absent.
    pub database_password: Option<Secret>,
    /// A label, any text.
    pub region_label: Option<String>,
    /// The slug of the organization that it belongs to; the first one when absent.
    pub organization: Option<String>,
    /// Whether it gets a PostgreSQL server of its own; as the settings say when absent.
    pub isolated: Option<bool>,
}

/// The secrets of a new project.
pub(crate) struct ProjectSecrets {
    pub(crate) logins: Logins,
    pub(crate) jwt_secret: Secret,
}

pub(crate) fn new_project_secrets(
    instance_key: &InstanceKey,
    reference: &ProjectRef,
    owner_password: Option<&Secret>,
) -> ProjectSecrets {
    let mut logins = Logins {
        migrator: derived_password(instance_key, reference, LoginKind::Migrator),
        editor: derived_password(instance_key, reference, LoginKind::Editor),
        reader: derived_password(instance_key, reference, LoginKind::Reader),
        ..Logins::generate()
    };
    if let Some(password) = owner_password {
        logins.owner = password.clone();
    }
    ProjectSecrets {
        logins,
        jwt_secret: generate_jwt_secret(),
    }
}

impl Platform {
    /// Creates a project and returns it ready to serve. A failure leaves nothing behind.
    pub async fn create_project(
        &self,
        request: &ProjectRequest,
    ) -> Result<ProjectRow, PlatformError> {
        let name = checked_name(&request.name)?;
        let reference = ProjectRef::generate();
        let password = request
            .database_password
            .as_ref()
            .filter(|password| !password.is_empty());
        if password.is_some() && !self.0.owns_default_database {
            // The password would also open other databases there that PUBLIC may connect to.
            return Err(PlatformError::Invalid(
                "On an external PostgreSQL a project's owner has no password of its own; connect \
                 with the roles of that server"
                    .to_owned(),
            ));
        }
        let secrets = new_project_secrets(&self.0.instance_key, &reference, password);
        let region = request.region_label.as_deref().unwrap_or("local");
        let organization = request.organization.as_deref();
        let organization = organization.unwrap_or(FIRST_ORGANIZATION);
        self.load_organization(organization).await?;
        let server = if request.isolated.unwrap_or(self.0.isolates_by_default) {
            ServerName::Isolated(reference.clone())
        } else {
            ServerName::Shared
        };
        if server.is_isolated() && !self.can_isolate() {
            return Err(PlatformError::Invalid(
                "Isolated projects need the PostgreSQL that Plinth manages: each gets a server of \
                 its own, which an external PostgreSQL cannot give"
                    .to_owned(),
            ));
        }

        let mut tables = self.admin().await?;
        let transaction = tables.transaction().await?;
        let project = NewProject {
            reference: &reference,
            name,
            kind: ProjectKind::Ordinary,
            database: reference.as_str(),
            organization,
            region,
            server: &server,
            secrets: &secrets,
        };
        insert_project(&self.0.instance_key, &transaction, &project).await?;
        transaction.commit().await?;

        if let Err(error) = self
            .create_project_database(&server, &reference, &secrets.logins)
            .await
        {
            if let Err(cleanup) = self.remove_project(&reference).await {
                tracing::warn!(
                    project = %reference,
                    "cleanup of a failed project failed, retrying at the next start: {cleanup}"
                );
            }
            return Err(error);
        }
        self.load_project(&plinth_project::ProjectName::Ref(reference))
            .await
    }

    async fn create_project_database(
        &self,
        server: &ServerName,
        reference: &ProjectRef,
        project_logins: &Logins,
    ) -> Result<(), PlatformError> {
        self.create_server(server).await?;
        let server = self.server(server).await?;
        let admin = server.administrator().connect().await?;
        databases::create_from_template(&admin, reference.as_str()).await?;
        create_logins(&admin, &server, reference, project_logins).await?;
        self.set_status(reference, ProjectStatus::ActiveHealthy)
            .await?;
        Ok(())
    }
}

/// Creates the project's logins; only they may connect to its database.
pub(super) async fn create_logins(
    admin: &Client,
    server: &ProjectServer,
    reference: &ProjectRef,
    project_logins: &Logins,
) -> Result<(), PlatformError> {
    let cluster = &server.cluster;
    let mut sql = logins::create_sql(cluster, reference, project_logins);
    sql.push_str(&logins::open_database_sql(
        cluster,
        reference,
        reference.as_str(),
    ));
    Ok(admin.batch_execute(&sql).await?)
}

/// A row of `platform.projects` to insert.
pub(crate) struct NewProject<'a> {
    pub(crate) reference: &'a ProjectRef,
    pub(crate) name: &'a str,
    pub(crate) kind: ProjectKind,
    pub(crate) database: &'a str,
    pub(crate) organization: &'a str,
    pub(crate) region: &'a str,
    pub(crate) server: &'a ServerName,
    pub(crate) secrets: &'a ProjectSecrets,
}

/// Inserts the row with its secrets and its first keys.
pub(crate) async fn insert_project(
    instance_key: &InstanceKey,
    transaction: &Transaction<'_>,
    project: &NewProject<'_>,
) -> Result<(), PlatformError> {
    let NewProject {
        reference,
        name,
        database,
        organization,
        region,
        server,
        secrets,
        ..
    } = project;
    let logins = SealedLogins::seal(instance_key, reference, &secrets.logins);
    let jwt_secret = Sealed::JwtSecret.seal(instance_key, reference, &secrets.jwt_secret);
    let kind = match project.kind {
        ProjectKind::Platform => "platform",
        ProjectKind::Default => "default",
        ProjectKind::Ordinary => "ordinary",
    };
    let sql = "insert into platform.projects
                   (ref, name, database, kind, status, region_label, sealed_owner_password,
                    sealed_authenticator_password, sealed_service_password, sealed_jwt_secret,
                    organization, server)
               values ($1, $2, $3, $4, 'COMING_UP', $5, $6, $7, $8, $9, $10, $11)";
    transaction
        .execute(
            sql,
            &[
                &reference.as_str(),
                name,
                database,
                &kind,
                region,
                &logins.owner,
                &logins.authenticator,
                &logins.service,
                &jwt_secret,
                organization,
                &server.as_column(),
            ],
        )
        .await?;
    keys::insert_first_keys(instance_key, transaction, reference).await
}

pub(crate) fn checked_name(name: &str) -> Result<&str, PlatformError> {
    let name = name.trim();
    let length = name.chars().count();
    if (1..=256).contains(&length) && !name.chars().any(char::is_control) {
        Ok(name)
    } else {
        Err(PlatformError::Invalid(
            "A name has 1 to 256 characters and no control characters".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_request_does_not_show_the_password() {
        let request = ProjectRequest {
            database_password: Some(Secret::new("open sesame")),
            ..ProjectRequest::default()
        };

        let printed = format!("{request:?}");

        assert!(printed.contains("Some(***)"), "{printed}");
        assert!(!printed.contains("sesame"), "{printed}");
    }
}
