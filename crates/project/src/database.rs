//! Access to a project's database, by role.
//!
//! `as_caller` is the usual one. The others are privileged: `as_service` for a service's own tables,
//! `as_owner` for users' migrations and SQL, `as_admin` for system migrations, `as_replicator` for
//! logical replication.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use plinth_db::{
    Access, Begin, DbError, End, Isolation, ListenEvent, LocalSettings, OpenTransaction, Params,
    Pool, PoolConfig, PooledConnection, Queries, Row, Step, Target, Usage,
};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, mpsc, watch};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    Caller, Cluster, LoginKind, Logins, ProjectRef, ProjectServer, Replicator, ServerLease,
    login_repair::LoginRepair, replication::SharedLock,
};

/// Session options of the administrating role. Users may create functions and operators in `public`,
/// which it must not find, whatever the database's own search path is.
pub const ADMIN_OPTIONS: &str = "-c search_path=pg_catalog,pg_temp";

/// The same for checks of roles, which must not wait for a transaction that a client leaves open.
pub const ROLE_CHECK_OPTIONS: &str =
    "-c search_path=pg_catalog,pg_temp -c lock_timeout=2s -c statement_timeout=10s";

/// Values are sent as text, whose format must not depend on the database's settings.
fn replicator_options() -> String {
    format!(
        "{ADMIN_OPTIONS} -c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC \
         -c extra_float_digits=1 -c bytea_output=hex"
    )
}

/// The service of a privileged connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Schema `auth`.
    Auth,
    /// Schema `storage`.
    Storage,
    /// Schema `realtime`.
    Realtime,
}

impl Service {
    /// Realtime sends row changes in UTC.
    fn options(self) -> String {
        let role = self.role();
        match self {
            Service::Realtime => format!("-c role={role} -c timezone=UTC"),
            Service::Auth | Service::Storage => format!("-c role={role}"),
        }
    }

    fn role(self) -> &'static str {
        match self {
            Service::Auth => "supabase_auth_admin",
            Service::Storage => "plinth_storage",
            Service::Realtime => "supabase_realtime_admin",
        }
    }
}

/// Where settings of callers' roles (`alter role anon set …`) are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleSettingsSource {
    /// In the project's own table, `plinth_roles.settings`: the catalog belongs to the cluster, and
    /// other projects can write to it.
    Project,
    /// In PostgreSQL's catalog, `pg_db_role_setting`.
    Catalog,
}

/// Connections to one project's database. Cheap to clone; pools are opened on first use.
#[derive(Clone)]
pub struct ProjectDb(Arc<Inner>);

struct Inner {
    targets: Targets,
    config: PoolConfig,
    pools: Mutex<HashMap<PoolKind, Pool>>,
    /// Locked for reading while a connection is in use, for writing by [`DatabaseLock`].
    lock: Arc<RwLock<()>>,
    /// Whether the exclusive lock is held or waited for: listeners and WAL readers disconnect.
    is_locked: watch::Sender<bool>,
    repair: LoginRepair,
    /// Keeps the server of an isolated project running.
    lease: ServerLease,
}

/// Connection targets by role.
pub(crate) enum Targets {
    /// The project's logins, and the cluster's administrating role.
    Platform {
        reference: ProjectRef,
        admin: Target,
        logins: Logins,
        cluster: Cluster,
    },
    /// One login for everything: a standalone service.
    Standalone(Target),
}

impl Targets {
    fn caller(&self) -> Target {
        match self {
            Self::Platform { .. } => self.login(LoginKind::Authenticator),
            Self::Standalone(target) => target.clone(),
        }
    }

    fn service(&self, service: Service) -> Target {
        match self {
            Self::Platform { .. } => self.login(LoginKind::Service).options(&service.options()),
            Self::Standalone(target) => target.clone(),
        }
    }

    fn owner(&self) -> Target {
        match self {
            Self::Platform { cluster, .. } if cluster.has_owner_logins => {
                self.login(LoginKind::Migrator)
            }
            Self::Platform { admin, .. } => admin.options("-c role=postgres"),
            Self::Standalone(target) => target.clone(),
        }
    }

    pub(crate) fn admin(&self) -> Target {
        match self {
            Self::Platform { admin, .. } => admin.options(ADMIN_OPTIONS),
            Self::Standalone(target) => target.clone(),
        }
    }

    fn login(&self, kind: LoginKind) -> Target {
        match self {
            Self::Platform {
                reference,
                admin,
                logins,
                ..
            } => admin.login(&kind.role_name(reference), logins.password(kind).expose()),
            Self::Standalone(target) => target.clone(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PoolKind {
    Caller,
    Service(Service),
}

impl ProjectDb {
    /// Connections to a project's database on `server`.
    pub fn new(
        server: &ProjectServer,
        reference: &ProjectRef,
        database: &str,
        logins: Logins,
        config: PoolConfig,
    ) -> Self {
        let targets = Targets::Platform {
            reference: reference.clone(),
            admin: server.admin.database(database),
            logins,
            cluster: server.cluster.clone(),
        };
        Self::with(targets, config, server.lease.clone())
    }

    /// One login for everything, for a standalone service.
    pub fn standalone(target: Target, config: PoolConfig) -> Self {
        Self::with(Targets::Standalone(target), config, ServerLease::default())
    }

    fn with(targets: Targets, config: PoolConfig, lease: ServerLease) -> Self {
        Self(Arc::new(Inner {
            targets,
            config,
            pools: Mutex::default(),
            lock: Arc::default(),
            is_locked: watch::Sender::new(false),
            repair: LoginRepair::default(),
            lease,
        }))
    }

    /// A transaction as `caller`, with role, claims and request settings.
    pub fn as_caller<'a>(&'a self, caller: &'a Caller) -> AsCaller<'a> {
        let mut settings = LocalSettings::with_capacity(TYPICAL_SETTINGS);
        settings
            .set("role", caller.role())
            .set("request.jwt.claims", caller.claims());
        AsCaller {
            db: self,
            begin: Begin::default(),
            settings,
            before_role: 0,
        }
    }

    /// Privileged: a connection that acts as the owner of one system schema.
    pub async fn as_service(&self, service: Service) -> Result<ServiceConnection, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let pool = self.pool(PoolKind::Service(service));
        let connection = match pool.get().await {
            Err(DbError::LoginRejected(reason)) => {
                self.repair_logins(reason).await?;
                pool.get().await?
            }
            connection => connection?,
        };
        Ok(ServiceConnection {
            connection,
            _guard: guard,
        })
    }

    /// Privileged: a transaction as the owner of one system schema.
    pub async fn begin_as_service(&self, service: Service) -> Result<ServiceTransaction, DbError> {
        Ok(self.open_as_service(service, &[]).await?.0)
    }

    /// The same, with its first statement in the same flush.
    pub async fn begin_as_service_with(
        &self,
        service: Service,
        first: Step<'_>,
    ) -> Result<(ServiceTransaction, Vec<Row>), DbError> {
        let (transaction, mut rows) = self.open_as_service(service, &[first]).await?;
        Ok((transaction, rows.pop().unwrap_or_default()))
    }

    async fn open_as_service(
        &self,
        service: Service,
        steps: &[Step<'_>],
    ) -> Result<(ServiceTransaction, Vec<Vec<Row>>), DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let pool = self.pool(PoolKind::Service(service));
        let settings = LocalSettings::default();
        let (transaction, rows) = match pool.begin(Begin::default(), &settings, steps).await {
            Err(DbError::LoginRejected(reason)) => {
                self.repair_logins(reason).await?;
                pool.begin(Begin::default(), &settings, steps).await?
            }
            begun => begun?,
        };
        let transaction = ServiceTransaction {
            transaction,
            _guard: guard,
        };
        Ok((transaction, rows))
    }

    /// Privileged: a connection of its own that acts as `postgres`, the owner of users' objects.
    pub async fn as_owner(&self) -> Result<Client, DbError> {
        self.connect_login(&self.0.targets.owner()).await
    }

    /// A session in which an operator works, with the rights that its role has.
    pub async fn session_as_operator(
        &self,
        access: DatabaseAccess,
    ) -> Result<OperatorSession, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let client = self.connect_login(&self.0.targets.owner()).await?;
        if let Some(role) = access.role() {
            client.batch_execute(&format!("set role {role}")).await?;
        }
        Ok(OperatorSession {
            client,
            _guard: guard,
        })
    }

    /// A connection of its own with one of the project's logins.
    async fn connect_login(&self, target: &Target) -> Result<Client, DbError> {
        match target.connect().await {
            Err(DbError::LoginRejected(reason)) => {
                self.repair_logins(reason).await?;
                target.connect().await
            }
            connected => connected,
        }
    }

    /// Restores the project's logins after PostgreSQL rejected one of them. An error if that is not
    /// possible; otherwise another attempt to connect is worthwhile.
    async fn repair_logins(&self, reason: String) -> Result<(), DbError> {
        // Boxed: rarely needed, and it would be part of every request's future.
        let repairing = self.0.repair.run(&self.0.targets, reason);
        Box::pin(repairing).await
    }

    /// Restores logins and shared roles that were changed behind our back. `admin` is the
    /// administrating role on this database.
    pub(crate) async fn check_roles(&self, admin: &mut Client) -> Result<(), DbError> {
        let (repair, targets) = (&self.0.repair, &self.0.targets);
        if repair.check_logins(targets, admin).await? {
            // A session has the settings of when it began.
            self.close();
        }
        repair.check_shared_roles(targets, admin).await
    }

    /// The same on a connection of its own, for the periodic check. Does nothing while the database is
    /// locked: it is checked again.
    pub async fn recheck_roles(&self) -> Result<(), DbError> {
        let Ok(_guard) = self.0.lock.clone().try_read_owned() else {
            return Ok(());
        };
        let target = self.0.targets.admin().options(ROLE_CHECK_OPTIONS);
        let mut admin = target.connect().await?;
        self.check_roles(&mut admin).await
    }

    /// What had to be restored since the project was opened, one phrase each.
    pub fn repairs(&self) -> Vec<String> {
        self.0.repair.history()
    }

    /// Privileged: a connection of its own with the administrating role.
    pub async fn as_admin(&self) -> Result<Client, DbError> {
        self.0.targets.admin().connect().await
    }

    /// Privileged: a replication session with the administrating role, which needs REPLICATION or a
    /// superuser. Waits while the database is locked, and disconnects when a lock is requested.
    pub async fn as_replicator(&self) -> Result<Replicator, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let lock = SharedLock {
            is_locked: self.0.is_locked.subscribe(),
            _guard: guard,
        };
        let target = self.0.targets.admin().options(&replicator_options());
        Replicator::connect(&target, lock).await
    }

    /// Locks the database exclusively, as copying or dropping it requires: waits for connections in
    /// use and closes all. New work waits until the lock is dropped.
    pub async fn lock(&self, timeout: Duration) -> Result<DatabaseLock, DbError> {
        let release = Release(self.clone());
        self.0.is_locked.send_replace(true);
        let exclusive = self.0.lock.clone().write_owned();
        let guard = tokio::time::timeout(timeout, exclusive)
            .await
            .map_err(|_| DbError::PoolTimeout)?;
        self.close();
        Ok(DatabaseLock {
            _release: release,
            _guard: guard,
        })
    }

    /// Listens on `channel` with the callers' login, until `stop`. Disconnects while the database is
    /// locked; every [`ListenEvent::Connected`] means that notifications may have been missed.
    pub fn listen(&self, channel: &str, stop: CancellationToken) -> mpsc::Receiver<ListenEvent> {
        let (sender, receiver) = mpsc::channel(64);
        let mut locked = self.0.is_locked.subscribe();
        let target = self.0.targets.caller();
        let channels = vec![channel.to_owned()];
        let lock = self.0.lock.clone();
        tokio::spawn(async move {
            while !stop.is_cancelled() && !sender.is_closed() {
                if locked.wait_for(|is_locked| !is_locked).await.is_err() {
                    return;
                }
                let _guard = lock.clone().read_owned().await;
                let disconnect = stop.child_token();
                let (mut events, listening) =
                    plinth_db::listen(target.clone(), channels.clone(), disconnect.clone());
                loop {
                    tokio::select! {
                        () = async { _ = locked.wait_for(|is_locked| *is_locked).await } => break,
                        () = sender.closed() => break,
                        event = events.recv() => {
                            let Some(event) = event else { break };
                            if sender.send(event).await.is_err() {
                                break;
                            }
                        }
                    }
                }
                disconnect.cancel();
                _ = listening.await;
            }
        });
        receiver
    }

    /// A connection of its own with the callers' login, for reading the catalog. The database cannot
    /// be locked while it is open.
    pub async fn as_login(&self) -> Result<LoginConnection, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let client = self.connect_login(&self.0.targets.caller()).await?;
        Ok(LoginConnection {
            client,
            _guard: guard,
        })
    }

    /// Whether its server may be stopped once this is closed.
    pub(crate) fn is_on_stoppable_server(&self) -> bool {
        self.0.lease.is_of_stoppable_server()
    }

    /// Where settings of callers' roles are stored.
    pub fn role_settings_source(&self) -> RoleSettingsSource {
        match &self.0.targets {
            Targets::Standalone(_) => RoleSettingsSource::Catalog,
            Targets::Platform {
                reference,
                admin,
                cluster,
                ..
            } => {
                // An external database, whose users connect without Plinth in between.
                let is_in_place =
                    !cluster.is_managed && admin.database_name() != reference.as_str();
                if is_in_place {
                    RoleSettingsSource::Catalog
                } else {
                    RoleSettingsSource::Project
                }
            }
        }
    }

    /// Discards prepared statements of all pooled connections, as after a schema change.
    pub fn discard_statements(&self) {
        for pool in self.pools().values() {
            pool.discard_statements();
        }
    }

    /// Closes all pools; the next request opens new ones.
    pub fn close(&self) {
        for (_, pool) in self.pools().drain() {
            pool.close();
        }
    }

    /// Closes idle connections.
    pub fn close_idle(&self) {
        for pool in self.pools().values() {
            pool.close_idle();
        }
    }

    /// Usage of the callers' pool, if it is open.
    pub fn usage(&self) -> Option<Usage> {
        self.pools().get(&PoolKind::Caller).map(Pool::usage)
    }

    /// Whether a request has a connection, or waits for one.
    pub(crate) fn is_in_use(&self) -> bool {
        let pools = self.pools();
        let mut usages = pools.values().map(Pool::usage);
        usages.any(|usage| usage.in_use > 0 || usage.waiting > 0)
    }

    fn pool(&self, kind: PoolKind) -> Pool {
        let mut pools = self.pools();
        let pool = pools.entry(kind).or_insert_with(|| {
            let target = match kind {
                PoolKind::Caller => self.0.targets.caller(),
                PoolKind::Service(service) => self.0.targets.service(service),
            };
            Pool::new(target, self.0.config)
        });
        pool.clone()
    }

    fn pools(&self) -> std::sync::MutexGuard<'_, HashMap<PoolKind, Pool>> {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exclusive lock of a database, released on drop.
pub struct DatabaseLock {
    _guard: OwnedRwLockWriteGuard<()>,
    _release: Release,
}

/// Lets listeners connect again.
struct Release(ProjectDb);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.0.is_locked.send_replace(false);
    }
}

/// A connection with the login role of callers; derefs to [`Client`].
pub struct LoginConnection {
    client: Client,
    _guard: OwnedRwLockReadGuard<()>,
}

impl Deref for LoginConnection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for LoginConnection {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// What an operator may do in a project's database, held by the role of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseAccess {
    /// Everything that `postgres` may.
    Owner,
    /// Rows of users' tables, as `plinth_editor`.
    Editor,
    /// The same, read only, as `plinth_reader`.
    Reader,
}

impl DatabaseAccess {
    fn role(self) -> Option<&'static str> {
        match self {
            Self::Owner => None,
            Self::Editor => Some("plinth_editor"),
            Self::Reader => Some("plinth_reader"),
        }
    }
}

/// The session of an operator. The database cannot be locked while it is open.
pub struct OperatorSession {
    client: Client,
    _guard: OwnedRwLockReadGuard<()>,
}

impl Deref for OperatorSession {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for OperatorSession {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// A privileged pooled connection.
pub struct ServiceConnection {
    connection: PooledConnection,
    _guard: OwnedRwLockReadGuard<()>,
}

impl ServiceConnection {
    /// Runs statements without parameters and results.
    pub async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.connection.batch_execute(sql).await
    }
}

impl Queries for ServiceConnection {
    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.connection.query(sql, params).await
    }

    async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        self.connection.execute(sql, params).await
    }
}

/// An open transaction of a service, rolled back on drop.
pub struct ServiceTransaction {
    transaction: OpenTransaction,
    _guard: OwnedRwLockReadGuard<()>,
}

impl ServiceTransaction {
    /// Commits.
    pub async fn commit(self) -> Result<(), DbError> {
        self.transaction.commit().await
    }

    /// Rolls back.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.transaction.rollback().await
    }
}

impl Queries for ServiceTransaction {
    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.transaction.query(sql, params).await
    }

    async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        self.transaction.execute(sql, params).await
    }
}

/// Builder of a transaction as a caller.
pub struct AsCaller<'a> {
    db: &'a ProjectDb,
    begin: Begin,
    settings: LocalSettings<'a>,
    /// Number of settings before the role.
    before_role: usize,
}

/// Typical number of settings per request.
const TYPICAL_SETTINGS: usize = 12;

impl<'a> AsCaller<'a> {
    /// Makes the transaction read-only.
    pub fn read_only(mut self) -> Self {
        self.begin.access = Access::ReadOnly;
        self
    }

    /// Sets the isolation level.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.begin.isolation = isolation;
        self
    }

    /// Adds a setting that is set with the login's rights, before the role changes.
    pub fn setting_before_role(
        mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> Self {
        self.settings.set_at(self.before_role, name, value);
        self.before_role += 1;
        self
    }

    /// Adds a setting of the request, such as `request.method`.
    pub fn setting(
        mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> Self {
        self.settings.set(name, value);
        self
    }

    /// The settings before the first statement.
    pub fn settings(&self) -> &LocalSettings<'a> {
        &self.settings
    }

    /// Runs one statement; the whole transaction is one round trip.
    pub async fn query(self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        let step = [Step::typed(sql, params)];
        let mut rows = self.run(&step, End::Commit).await?;
        Ok(rows.pop().unwrap_or_default())
    }

    /// Runs statements; the whole transaction is one round trip. Returns the rows of each.
    pub async fn run(self, steps: &[Step<'_>], end: End) -> Result<Vec<Vec<Row>>, DbError> {
        let _guard = self.db.0.lock.read().await;
        let pool = self.db.pool(PoolKind::Caller);
        match pool.run_steps(self.begin, &self.settings, steps, end).await {
            Err(DbError::LoginRejected(reason)) => {
                self.db.repair_logins(reason).await?;
                pool.run_steps(self.begin, &self.settings, steps, end).await
            }
            rows => rows,
        }
    }

    /// Runs the first statements and leaves the transaction open.
    pub async fn begin(
        self,
        steps: &[Step<'_>],
    ) -> Result<(CallerTransaction, Vec<Vec<Row>>), DbError> {
        let guard = self.db.0.lock.clone().read_owned().await;
        let pool = self.db.pool(PoolKind::Caller);
        let (transaction, rows) = match pool.begin(self.begin, &self.settings, steps).await {
            Err(DbError::LoginRejected(reason)) => {
                self.db.repair_logins(reason).await?;
                pool.begin(self.begin, &self.settings, steps).await?
            }
            begun => begun?,
        };
        let transaction = CallerTransaction {
            transaction,
            _guard: guard,
        };
        Ok((transaction, rows))
    }
}

/// An open transaction as a caller, rolled back on drop.
pub struct CallerTransaction {
    transaction: OpenTransaction,
    _guard: OwnedRwLockReadGuard<()>,
}

impl CallerTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.transaction.query(sql, params).await
    }

    /// Commits.
    pub async fn commit(self) -> Result<(), DbError> {
        self.transaction.commit().await
    }

    /// Rolls back.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.transaction.rollback().await
    }
}
