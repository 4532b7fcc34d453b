//! Prepares a cluster: shared roles, the template, project zero, the default project. Idempotent;
//! concurrent starts are serialised by an advisory lock.

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
    Cluster, LoginLimits, Logins, ProjectKind, ProjectRef, ProjectStatus, ServerName, logins,
    prepare_cluster,
};
use plinth_token::{InstanceKey, Secret};
use tokio_postgres::Client;

use crate::{
    ConfiguredKeys, Platform, PlatformError, databases,
    organizations::FIRST_ORGANIZATION,
    platform::{Inner, References},
    projects::{NewProject, insert_project, new_project_secrets, parse_ref},
    schema,
    sealed::{Sealed, SealedLogins},
};

const LOCK: &str = "select pg_advisory_lock(7305820114271965)";
const UNLOCK: &str = "select pg_advisory_unlock(7305820114271965)";
const PLATFORM_NEW: &str = "plinth_platform_new";

/// The owner's password in local development, which every local tool assumes.
pub const LOCAL_OWNER_PASSWORD: &str = "postgres";

/// Connections to project zero's tables, for short statements.
const PLATFORM_POOL: PoolConfig = PoolConfig {
    size: 5,
    acquire_timeout: Duration::from_secs(5),
    max_lifetime: Duration::from_secs(1800),
    idle_timeout: Duration::from_secs(30),
};

/// The database of the default project.
#[derive(Debug, Clone)]
pub enum DefaultDatabase {
    /// Created from the template.
    Managed(String),
    /// The database of `--database-url`, used in place and never dropped.
    External(String),
}

impl DefaultDatabase {
    fn name(&self) -> &str {
        match self {
            Self::Managed(name) | Self::External(name) => name,
        }
    }
}

/// How many connections one project may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionShare {
    /// Of its owner, over the database port; by default a fifth of all.
    pub owner: Option<u32>,
    /// Of each pool.
    pub pool_size: usize,
}

/// Input of a start.
pub struct Bootstrap {
    /// The administrating role, on a database that always exists.
    pub maintenance: Target,
    /// The database of the default project.
    pub default_database: DefaultDatabase,
    /// Seals secrets at rest.
    pub instance_key: InstanceKey,
    /// The system schemas of every project, in order.
    pub schemas: Vec<MigrationSet>,
    /// Keys of the default project from the configuration.
    pub configured_keys: ConfiguredKeys,
    /// A fixed password for the default project's owner, instead of a generated one.
    pub default_owner_password: Option<Secret>,
    /// How many connections projects may have on a managed server.
    pub connections: ConnectionShare,
    /// Whether new projects are isolated unless the request says otherwise.
    pub isolates_by_default: bool,
    /// How long deleted projects stay restorable.
    pub trash: Duration,
    /// Receives log records.
    pub logs: LogStore,
}

impl Bootstrap {
    /// Creates whatever is missing and returns the platform.
    pub async fn run(mut self) -> Result<Platform, PlatformError> {
        // Owners of projects can create functions in `public` of databases where we run statements
        // as a superuser; the search path must not find them.
        let maintenance = self.maintenance.clone();
        self.maintenance = self.maintenance.options(plinth_project::ADMIN_OPTIONS);
        let mut client = self.maintenance.connect().await?;
        let is_managed = matches!(self.default_database, DefaultDatabase::Managed(_));
        let mut cluster = prepare_cluster(&mut client, is_managed).await?;
        cluster.login_limits = is_managed.then(|| {
            let ConnectionShare { owner, pool_size } = self.connections;
            LoginLimits::new(cluster.connection_slots, owner, pool_size)
        });
        client.batch_execute(LOCK).await?;
        let references = self.ensure_databases(&mut client, &cluster).await;
        client.batch_execute(UNLOCK).await?;
        let references = references?;

        let admin = self.maintenance.database(references.platform.as_str());
        let platform = Platform(Arc::new(Inner {
            pool: ClientPool::new(admin.clone(), PLATFORM_POOL),
            maintenance,
            admin,
            cluster,
            instance_key: self.instance_key,
            schemas: self.schemas,
            configured_keys: self.configured_keys,
            references,
            owns_default_database: is_managed,
            trash: self.trash,
            logs: self.logs,
            registry: OnceLock::new(),
            endpoints: OnceLock::new(),
            files: OnceLock::new(),
            runner: OnceLock::new(),
            servers: OnceLock::new(),
            isolated: Default::default(),
            isolates_by_default: self.isolates_by_default,
            connections: self.connections,
            node: uuid::Uuid::new_v4(),
            undone: Default::default(),
            jobs: Default::default(),
            events: Default::default(),
            sizes: Default::default(),
            tasks: Default::default(),
            shutdown: Default::default(),
        }));
        platform
            .set_default_owner_password(self.default_owner_password)
            .await?;
        Ok(platform)
    }

    async fn ensure_databases(
        &self,
        client: &mut Client,
        cluster: &Cluster,
    ) -> Result<References, PlatformError> {
        if let DefaultDatabase::Managed(_) = self.default_database {
            // A managed cluster: no other role needs to connect to its maintenance database.
            databases::revoke_public_connect(client, self.maintenance.database_name()).await?;
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
            None => self.create_platform_database(client, &comment).await?,
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
            let secrets = new_project_secrets(&self.instance_key, &reference, None);
            let project = NewProject {
                reference: &reference,
                name: "Platform",
                kind: ProjectKind::Platform,
                database: reference.as_str(),
                organization: FIRST_ORGANIZATION,
                region: "local",
                server: &ServerName::Shared,
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

    async fn create_platform_database(
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
                // The first start was killed half-way: every step below is idempotent.
                let logins = self.stored_logins(tables, &reference).await?;
                (reference, logins)
            }
            Some((reference, _)) => return Ok(reference),
            None => self.insert_default(tables).await?,
        };
        let mut sql = logins::create_sql(cluster, &reference, &logins);
        match &self.default_database {
            DefaultDatabase::Managed(name) => {
                databases::drop_database(client, name).await?;
                databases::create_from(client, name, databases::TEMPLATE).await?;
                sql.push_str(&logins::open_database_sql(cluster, &reference, name));
            }
            DefaultDatabase::External(name) => {
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
        let secrets = new_project_secrets(&self.instance_key, &reference, None);
        let project = NewProject {
            reference: &reference,
            name: "Default",
            kind: ProjectKind::Default,
            database: self.default_database.name(),
            organization: FIRST_ORGANIZATION,
            region: "local",
            server: &ServerName::Shared,
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
    /// In local development on loopback the password is [`LOCAL_OWNER_PASSWORD`]; otherwise a
    /// generated one, which the row keeps sealed.
    async fn set_default_owner_password(&self, fixed: Option<Secret>) -> Result<(), PlatformError> {
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
        let password = match fixed {
            Some(password) => password,
            // Left from an earlier start in local development; it must not stay.
            None if stored.expose() == LOCAL_OWNER_PASSWORD => plinth_token::generate_password(),
            None => return Ok(()),
        };
        if password.expose() == stored.expose() {
            return Ok(());
        }
        drop(tables);
        self.store_owner_password(reference, &password).await
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
