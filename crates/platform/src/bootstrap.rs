//! From any cluster to one that carries Plinth: shared roles, the template, project zero, the
//! default project. Idempotent; nodes that start at once queue up behind one lock.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use plinth_db::{
    ClientPool, PoolConfig, QuotedLiteral, Target,
    migrate::{self, MigrationSet},
};
use plinth_log::LogStore;
use plinth_project::{
    Cluster, LoginKind, Logins, ProjectKind, ProjectRef, ProjectStatus, logins, prepare_cluster,
};
use plinth_token::{InstanceKey, Secret};
use tokio_postgres::Client;

use crate::{
    GivenKeys, Platform, PlatformError, databases,
    organizations::FIRST_ORGANIZATION,
    platform::{Inner, References},
    projects::{NewProject, insert_project, new_project_secrets, parse_ref},
    schema,
    sealed::{Sealed, SealedLogins},
};

const LOCK: &str = "select pg_advisory_lock(7305820114271965)";
const UNLOCK: &str = "select pg_advisory_unlock(7305820114271965)";
const PLATFORM_NEW: &str = "plinth_platform_new";

/// The database password that every local tool assumes.
pub const WELL_KNOWN: &str = "postgres";

/// Connections to project zero's tables; each is short work.
const PLATFORM_POOL: PoolConfig = PoolConfig {
    size: 5,
    acquire_timeout: Duration::from_secs(5),
    max_lifetime: Duration::from_secs(1800),
    idle_timeout: Duration::from_secs(30),
};

/// Where the default project lives.
#[derive(Debug, Clone)]
pub enum DefaultDatabase {
    /// A database of ours, made from the template.
    Made(String),
    /// The database of `--database-url`, used in place and never dropped.
    Given(String),
}

impl DefaultDatabase {
    fn name(&self) -> &str {
        match self {
            Self::Made(name) | Self::Given(name) => name,
        }
    }
}

/// What a start brings along.
pub struct Bootstrap {
    /// The administrating role, on a database that always exists.
    pub maintenance: Target,
    /// Where the default project lives.
    pub default_database: DefaultDatabase,
    /// Seals secrets at rest.
    pub instance_key: InstanceKey,
    /// The system schemas of every project, in order.
    pub schemas: Vec<MigrationSet>,
    /// Keys of the default project that the configuration gives.
    pub given: GivenKeys,
    /// A well-known password for the default project's owner, instead of its own generated one.
    pub default_owner_password: Option<Secret>,
    /// How long deleted projects stay restorable.
    pub trash: Duration,
    /// Where records go.
    pub logs: LogStore,
}

impl Bootstrap {
    /// Does whatever is missing and hands out the platform.
    pub async fn run(mut self) -> Result<Platform, PlatformError> {
        // Owners of projects create functions in `public`, also of the databases that we work
        // in as a superuser: none of them must be found by name.
        self.maintenance = self.maintenance.options(plinth_project::ADMIN_OPTIONS);
        let mut client = self.maintenance.connect().await?;
        let cluster = prepare_cluster(&mut client).await?;
        client.batch_execute(LOCK).await?;
        let references = self.ensure(&mut client, &cluster).await;
        client.batch_execute(UNLOCK).await?;
        let references = references?;

        let admin = self.maintenance.database(references.platform.as_str());
        let platform = Platform(Arc::new(Inner {
            pool: ClientPool::new(admin.clone(), PLATFORM_POOL),
            admin,
            cluster,
            instance_key: self.instance_key,
            schemas: self.schemas,
            given: self.given,
            references,
            owns_default_database: matches!(self.default_database, DefaultDatabase::Made(_)),
            trash: self.trash,
            logs: self.logs,
            registry: OnceLock::new(),
            endpoints: OnceLock::new(),
            files: OnceLock::new(),
            runner: OnceLock::new(),
            node: uuid::Uuid::new_v4(),
            tasks: Default::default(),
            stopping: Default::default(),
        }));
        platform
            .set_default_owner_password(self.default_owner_password)
            .await?;
        Ok(platform)
    }

    async fn ensure(
        &self,
        client: &mut Client,
        cluster: &Cluster,
    ) -> Result<References, PlatformError> {
        if let DefaultDatabase::Made(_) = self.default_database {
            // A cluster of our own: nobody else has business in its maintenance database.
            databases::close(client, self.maintenance.database_name()).await?;
        }
        databases::ensure_template(&self.maintenance, client, &self.schemas).await?;
        let platform = self.ensure_platform(client, cluster).await?;
        let mut tables = self
            .maintenance
            .database(platform.as_str())
            .connect()
            .await?;
        let default = self.ensure_default(client, &mut tables, cluster).await?;
        Ok(References { platform, default })
    }

    /// Project zero's database is found by its comment, since its name is a random ref.
    async fn ensure_platform(
        &self,
        client: &mut Client,
        cluster: &Cluster,
    ) -> Result<ProjectRef, PlatformError> {
        let comment = format!(
            "plinth platform of database {}",
            self.default_database.name()
        );
        let reference = match databases::find_by_comment(client, &comment).await? {
            Some(name) => parse_ref(&name)?,
            None => self.make_platform_database(client, &comment).await?,
        };
        let mut tables = self
            .maintenance
            .database(reference.as_str())
            .connect()
            .await?;
        let mut schemas = self.schemas.clone();
        schemas.push(schema::MIGRATIONS);
        migrate::migrate(&mut tables, &schemas).await?;
        if find_by_kind(&tables, "platform").await?.is_none() {
            let secrets = new_project_secrets(None);
            let project = NewProject {
                reference: &reference,
                name: "Platform",
                kind: ProjectKind::Platform,
                database: reference.as_str(),
                organization: FIRST_ORGANIZATION,
                region: "local",
                secrets: &secrets,
            };
            let transaction = tables.transaction().await?;
            insert_project(&self.instance_key, &transaction, &project).await?;
            let mut sql = logins::create_sql(cluster, &reference, &secrets.logins);
            sql.push_str(&logins::open_database_sql(
                cluster,
                &reference,
                reference.as_str(),
            ));
            sql.push_str(&activate_sql(&reference));
            transaction.batch_execute(&sql).await?;
            transaction.commit().await?;
        }
        Ok(reference)
    }

    async fn make_platform_database(
        &self,
        client: &mut Client,
        comment: &str,
    ) -> Result<ProjectRef, PlatformError> {
        let reference = ProjectRef::generate();
        databases::drop_database(client, PLATFORM_NEW).await?;
        databases::create_from(client, PLATFORM_NEW, databases::TEMPLATE).await?;
        let transaction = client.transaction().await?;
        transaction
            .batch_execute(&format!(
                "alter database {PLATFORM_NEW} rename to {reference};
                 comment on database {reference} is {};",
                QuotedLiteral::new(comment)
            ))
            .await?;
        transaction.commit().await?;
        Ok(reference)
    }

    async fn ensure_default(
        &self,
        client: &mut Client,
        tables: &mut Client,
        cluster: &Cluster,
    ) -> Result<ProjectRef, PlatformError> {
        let (reference, logins) = match find_by_kind(tables, "default").await? {
            Some((reference, ProjectStatus::ComingUp)) => {
                // Killed half-way through the first start: every step below can be done again.
                let logins = self.stored_logins(tables, &reference).await?;
                (reference, logins)
            }
            Some((reference, _)) => return Ok(reference),
            None => self.insert_default(tables).await?,
        };
        let mut sql = logins::create_sql(cluster, &reference, &logins);
        match &self.default_database {
            DefaultDatabase::Made(name) => {
                databases::drop_database(client, name).await?;
                databases::create_from(client, name, databases::TEMPLATE).await?;
                sql.push_str(&logins::open_database_sql(cluster, &reference, name));
            }
            DefaultDatabase::Given(name) => {
                sql.push_str(&logins::enter_database_sql(cluster, &reference, name));
            }
        }
        client.batch_execute(&sql).await?;
        tables.batch_execute(&activate_sql(&reference)).await?;
        Ok(reference)
    }

    async fn insert_default(
        &self,
        tables: &mut Client,
    ) -> Result<(ProjectRef, Logins), PlatformError> {
        let reference = ProjectRef::generate();
        let secrets = new_project_secrets(None);
        let project = NewProject {
            reference: &reference,
            name: "Default",
            kind: ProjectKind::Default,
            database: self.default_database.name(),
            organization: FIRST_ORGANIZATION,
            region: "local",
            secrets: &secrets,
        };
        let transaction = tables.transaction().await?;
        insert_project(&self.instance_key, &transaction, &project).await?;
        transaction.commit().await?;
        Ok((reference, secrets.logins))
    }

    async fn stored_logins(
        &self,
        tables: &Client,
        reference: &ProjectRef,
    ) -> Result<Logins, PlatformError> {
        let sql = "select sealed_owner_password, sealed_authenticator_password,
                          sealed_service_password
                   from platform.projects where ref = $1";
        let row = tables.query_one(sql, &[&reference.as_str()]).await?;
        let sealed = SealedLogins {
            owner: row.get(0),
            authenticator: row.get(1),
            service: row.get(2),
        };
        sealed
            .open(&self.instance_key, reference)
            .map_err(PlatformError::caused_by)
    }
}

impl Platform {
    /// On loopback the password is `postgres`, which is what every local tool assumes; otherwise
    /// the generated one, which the row keeps sealed.
    async fn set_default_owner_password(
        &self,
        well_known: Option<Secret>,
    ) -> Result<(), PlatformError> {
        if !self.0.cluster.has_owner_logins {
            return Ok(());
        }
        let reference = &self.0.references.default;
        let tables = self.tables().await?;
        let sql = "select sealed_owner_password from platform.projects where ref = $1";
        let row = tables.query_one(sql, &[&reference.as_str()]).await?;
        let stored = Sealed::OwnerPassword
            .open(&self.0.instance_key, reference, row.get(0))
            .map_err(PlatformError::caused_by)?;
        let password = match well_known {
            Some(password) => password,
            // It was started on loopback before: the well-known one must not stay.
            None if stored.expose() == WELL_KNOWN => plinth_token::generate_password(),
            None => return Ok(()),
        };
        if password.expose() == stored.expose() {
            return Ok(());
        }
        let sealed = Sealed::OwnerPassword.seal(&self.0.instance_key, reference, &password);
        let admin = self.admin().await?;
        admin
            .batch_execute(&logins::password_sql(
                LoginKind::Owner,
                reference,
                &password,
            ))
            .await?;
        let sql = "update platform.projects set sealed_owner_password = $2 where ref = $1";
        tables.execute(sql, &[&reference.as_str(), &sealed]).await?;
        Ok(())
    }
}

fn activate_sql(reference: &ProjectRef) -> String {
    let literal = QuotedLiteral::new(reference.as_str());
    format!("update platform.projects set status = 'ACTIVE_HEALTHY' where ref = {literal};")
}

async fn find_by_kind(
    tables: &Client,
    kind: &str,
) -> Result<Option<(ProjectRef, ProjectStatus)>, PlatformError> {
    let sql = "select ref, status from platform.projects where kind = $1";
    let Some(row) = tables.query_opt(sql, &[&kind]).await? else {
        return Ok(None);
    };
    let status = row
        .get::<_, &str>(1)
        .parse()
        .map_err(PlatformError::internal)?;
    Ok(Some((parse_ref(row.get(0))?, status)))
}
