//! `projects create`: a row, a copy of the template, three logins.
//!
//! The row stands first, as COMING_UP: whatever happens then, it says what to clear away.

use plinth_project::{Logins, ProjectKind, ProjectRef, ProjectStatus, logins};
use plinth_token::{InstanceKey, Secret, generate_jwt_secret};
use tokio_postgres::{Client, Transaction};

use super::ProjectRow;
use crate::{
    Platform, PlatformError, databases, keys,
    organizations::FIRST_ORGANIZATION,
    sealed::{Sealed, SealedLogins},
};

/// What somebody asks for.
#[derive(Debug, Clone, Default)]
pub struct ProjectRequest {
    /// What people call it: 1 to 256 characters, not unique.
    pub name: String,
    /// The database owner's password; generated when absent.
    pub database_password: Option<String>,
    /// A label, any text.
    pub region_label: Option<String>,
    /// The slug of the organization that it belongs to; the first one when absent.
    pub organization: Option<String>,
}

/// The secrets of a project to be.
pub(crate) struct ProjectSecrets {
    pub(crate) logins: Logins,
    pub(crate) jwt_secret: Secret,
}

pub(crate) fn new_project_secrets(owner_password: Option<&str>) -> ProjectSecrets {
    let mut logins = Logins::generate();
    if let Some(password) = owner_password {
        logins.owner = Secret::new(password);
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
            .as_deref()
            .filter(|text| !text.is_empty());
        if password.is_some() && !self.0.owns_default_database {
            // There, whoever knows it could also connect to databases that are open to all roles.
            return Err(PlatformError::Invalid(
                "On an external PostgreSQL a project's owner has no password of its own; connect \
                 with the roles of that server"
                    .to_owned(),
            ));
        }
        let secrets = new_project_secrets(password);
        let region = request.region_label.as_deref().unwrap_or("local");
        let organization = request.organization.as_deref();
        let organization = organization.unwrap_or(FIRST_ORGANIZATION);
        self.load_organization(organization).await?;

        let mut tables = self.admin().await?;
        let transaction = tables.transaction().await?;
        let project = NewProject {
            reference: &reference,
            name,
            kind: ProjectKind::Ordinary,
            database: reference.as_str(),
            organization,
            region,
            secrets: &secrets,
        };
        insert_project(&self.0.instance_key, &transaction, &project).await?;
        transaction.commit().await?;

        if let Err(error) = self.make_project(&reference, &secrets.logins).await {
            if let Err(cleaning) = self.clear_away(&reference).await {
                tracing::warn!(project = %reference, "left for the next start to clear: {cleaning}");
            }
            return Err(error);
        }
        self.load_project(&plinth_project::ProjectName::Ref(reference))
            .await
    }

    async fn make_project(
        &self,
        reference: &ProjectRef,
        project_logins: &Logins,
    ) -> Result<(), PlatformError> {
        let admin = self.admin().await?;
        databases::create_pristine(&admin, reference.as_str()).await?;
        self.open_to_logins(&admin, reference, project_logins)
            .await?;
        self.set_status(reference, ProjectStatus::ActiveHealthy)
            .await?;
        Ok(())
    }

    /// Makes the project's logins and lets them into its database, and nobody else.
    pub(super) async fn open_to_logins(
        &self,
        admin: &Client,
        reference: &ProjectRef,
        project_logins: &Logins,
    ) -> Result<(), PlatformError> {
        let cluster = &self.0.cluster;
        let mut sql = logins::create_sql(cluster, reference, project_logins);
        sql.push_str(&logins::open_database_sql(
            cluster,
            reference,
            reference.as_str(),
        ));
        Ok(admin.batch_execute(&sql).await?)
    }
}

/// A row to be.
pub(crate) struct NewProject<'a> {
    pub(crate) reference: &'a ProjectRef,
    pub(crate) name: &'a str,
    pub(crate) kind: ProjectKind,
    pub(crate) database: &'a str,
    pub(crate) organization: &'a str,
    pub(crate) region: &'a str,
    pub(crate) secrets: &'a ProjectSecrets,
}

/// Writes the row with its secrets, a first signing key and two API keys.
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
                    organization)
               values ($1, $2, $3, $4, 'COMING_UP', $5, $6, $7, $8, $9, $10)";
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
