//! A project's database, by who does the work.
//!
//! `as_caller` is the everyday call. The others are privileged and visibly named: `as_service`
//! for a service's own tables, `as_owner` for the user's migrations and SQL, `as_admin` for the
//! system migrations, `as_replicator` for the stream of changes.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use plinth_db::{
    Access, Begin, DbError, End, Heard, Isolation, LocalSettings, OpenTransaction, Params, Pool,
    PoolConfig, PooledConnection, Queries, Row, Step, Target, Usage,
};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, mpsc, watch};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{Caller, Cluster, LoginKind, Logins, ProjectRef, Replicator, replication::Turn};

/// What every session of the administrating role starts with. Users may create functions and
/// operators in `public`, and it must not find them by accident, whatever the database's own
/// search path says.
pub const ADMIN_OPTIONS: &str = "-c search_path=pg_catalog,pg_temp";

/// Values arrive as text, and must look the same whatever the database prefers.
fn replicator_options() -> String {
    format!(
        "{ADMIN_OPTIONS} -c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC \
         -c extra_float_digits=1 -c bytea_output=hex"
    )
}

/// Whose schema a privileged connection works on.
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
    /// Row changes are told in UTC, whatever the database prefers.
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

/// Connections to one project's database. Cheap to clone; opens nothing until asked.
#[derive(Clone)]
pub struct ProjectDb(Arc<Inner>);

struct Inner {
    way_in: WayIn,
    config: PoolConfig,
    pools: Mutex<HashMap<PoolKind, Pool>>,
    /// Held for reading while a connection is out; copying the database takes it for writing.
    gate: Arc<RwLock<()>>,
    /// Whether somebody has, or waits for, the database for themselves: listeners hang up.
    is_held: watch::Sender<bool>,
}

/// Which logins there are.
enum WayIn {
    /// Three of the project's own, and the cluster's administrating role.
    Platform {
        reference: ProjectRef,
        admin: Target,
        logins: Logins,
        has_owner_login: bool,
    },
    /// One, for everything: a service that runs alone in place of another program.
    Alone(Target),
}

impl WayIn {
    fn caller(&self) -> Target {
        match self {
            Self::Platform { .. } => self.login(LoginKind::Authenticator),
            Self::Alone(target) => target.clone(),
        }
    }

    fn service(&self, service: Service) -> Target {
        match self {
            Self::Platform { .. } => self.login(LoginKind::Service).options(&service.options()),
            Self::Alone(target) => target.clone(),
        }
    }

    fn owner(&self) -> Target {
        match self {
            Self::Platform {
                has_owner_login: true,
                ..
            } => self.login(LoginKind::Owner),
            Self::Platform { admin, .. } => admin.options("-c role=postgres"),
            Self::Alone(target) => target.clone(),
        }
    }

    fn admin(&self) -> Target {
        match self {
            Self::Platform { admin, .. } => admin.options(ADMIN_OPTIONS),
            Self::Alone(target) => target.clone(),
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
            Self::Alone(target) => target.clone(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PoolKind {
    Caller,
    Service(Service),
}

impl ProjectDb {
    /// `admin` reaches the cluster with the administrating role; its database does not matter.
    pub fn new(
        admin: &Target,
        cluster: &Cluster,
        reference: &ProjectRef,
        database: &str,
        logins: Logins,
        config: PoolConfig,
    ) -> Self {
        let way_in = WayIn::Platform {
            reference: reference.clone(),
            admin: admin.database(database),
            logins,
            has_owner_login: cluster.has_owner_logins,
        };
        Self::with(way_in, config)
    }

    /// One login for everything, as a service alone has it.
    pub fn alone(target: Target, config: PoolConfig) -> Self {
        Self::with(WayIn::Alone(target), config)
    }

    fn with(way_in: WayIn, config: PoolConfig) -> Self {
        Self(Arc::new(Inner {
            way_in,
            config,
            pools: Mutex::default(),
            gate: Arc::default(),
            is_held: watch::Sender::new(false),
        }))
    }

    /// Work as `caller`: role, claims and request settings travel with the statement.
    pub fn as_caller<'a>(&'a self, caller: &'a Caller) -> AsCaller<'a> {
        let mut settings = LocalSettings::with_capacity(USUAL_SETTINGS);
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
        let gate = self.0.gate.clone().read_owned().await;
        let connection = self.pool(PoolKind::Service(service)).get().await?;
        Ok(ServiceConnection {
            connection,
            _gate: gate,
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
        let gate = self.0.gate.clone().read_owned().await;
        let pool = self.pool(PoolKind::Service(service));
        let (transaction, rows) = pool
            .begin(Begin::default(), &LocalSettings::default(), steps)
            .await?;
        let transaction = ServiceTransaction {
            transaction,
            _gate: gate,
        };
        Ok((transaction, rows))
    }

    /// Privileged: a connection of its own that acts as `postgres`, the owner of users' objects.
    pub async fn as_owner(&self) -> Result<Client, DbError> {
        self.0.way_in.owner().connect().await
    }

    /// Privileged: a connection of its own with the administrating role.
    pub async fn as_admin(&self) -> Result<Client, DbError> {
        self.0.way_in.admin().connect().await
    }

    /// Privileged: a session with the administrating role that follows the database's changes,
    /// which takes REPLICATION or a superuser. Waits while the database is held, and hangs up when
    /// it is to be.
    pub async fn as_replicator(&self) -> Result<Replicator, DbError> {
        let gate = self.0.gate.clone().read_owned().await;
        let turn = Turn {
            is_held: self.0.is_held.subscribe(),
            _gate: gate,
        };
        let target = self.0.way_in.admin().options(&replicator_options());
        Replicator::connect(&target, turn).await
    }

    /// Stops lending connections, waits for those that are out, and closes all: what copying or
    /// dropping a database needs. Work that arrives meanwhile waits until the guard is dropped.
    pub async fn hold(&self, patience: Duration) -> Result<Held, DbError> {
        let release = Release(self.clone());
        self.0.is_held.send_replace(true);
        let exclusive = self.0.gate.clone().write_owned();
        let guard = tokio::time::timeout(patience, exclusive)
            .await
            .map_err(|_| DbError::PoolTimeout)?;
        self.close();
        Ok(Held {
            _release: release,
            _guard: guard,
        })
    }

    /// Listens on `channel` with the login that callers start from, until `stop`. Hangs up while
    /// the database is held; every [`Heard::Connected`] means that something may have been missed.
    pub fn listen(&self, channel: &str, stop: CancellationToken) -> mpsc::Receiver<Heard> {
        let (sender, receiver) = mpsc::channel(64);
        let mut held = self.0.is_held.subscribe();
        let target = self.0.way_in.caller();
        let channels = vec![channel.to_owned()];
        let gate = self.0.gate.clone();
        tokio::spawn(async move {
            while !stop.is_cancelled() && !sender.is_closed() {
                if held.wait_for(|is_held| !is_held).await.is_err() {
                    return;
                }
                let _gate = gate.clone().read_owned().await;
                let hang_up = stop.child_token();
                let (mut heard, listening) =
                    plinth_db::listen(target.clone(), channels.clone(), hang_up.clone());
                loop {
                    tokio::select! {
                        () = async { _ = held.wait_for(|is_held| *is_held).await } => break,
                        () = sender.closed() => break,
                        heard = heard.recv() => {
                            let Some(heard) = heard else { break };
                            if sender.send(heard).await.is_err() {
                                break;
                            }
                        }
                    }
                }
                hang_up.cancel();
                _ = listening.await;
            }
        });
        receiver
    }

    /// A connection of its own with the login that callers start from, for looking at the
    /// catalog. While it is out, the database cannot be held.
    pub async fn as_login(&self) -> Result<LoginConnection, DbError> {
        let gate = self.0.gate.clone().read_owned().await;
        let client = self.0.way_in.caller().connect().await?;
        Ok(LoginConnection {
            client,
            _gate: gate,
        })
    }

    /// Lets every pooled connection forget what it prepared, as after a schema change.
    pub fn forget_statements(&self) {
        for pool in self.pools().values() {
            pool.forget_statements();
        }
    }

    /// Closes all pools; the next request opens new ones.
    pub fn close(&self) {
        for (_, pool) in self.pools().drain() {
            pool.close();
        }
    }

    /// Closes connections that nobody used for a while.
    pub fn close_idle(&self) {
        for pool in self.pools().values() {
            pool.close_idle();
        }
    }

    /// Numbers of the as-caller pool.
    pub fn usage(&self) -> Option<Usage> {
        self.pools().get(&PoolKind::Caller).map(Pool::usage)
    }

    fn pool(&self, kind: PoolKind) -> Pool {
        let mut pools = self.pools();
        let pool = pools.entry(kind).or_insert_with(|| {
            let target = match kind {
                PoolKind::Caller => self.0.way_in.caller(),
                PoolKind::Service(service) => self.0.way_in.service(service),
            };
            Pool::new(target, self.0.config)
        });
        pool.clone()
    }

    fn pools(&self) -> std::sync::MutexGuard<'_, HashMap<PoolKind, Pool>> {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody else works on the database as long as this lives.
pub struct Held {
    _guard: OwnedRwLockWriteGuard<()>,
    _release: Release,
}

/// Lets listeners come back.
struct Release(ProjectDb);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.0.is_held.send_replace(false);
    }
}

/// A connection with the login role of callers; derefs to [`Client`].
pub struct LoginConnection {
    client: Client,
    _gate: OwnedRwLockReadGuard<()>,
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

/// A privileged connection on loan.
pub struct ServiceConnection {
    connection: PooledConnection,
    _gate: OwnedRwLockReadGuard<()>,
}

impl ServiceConnection {
    /// Runs statements that have neither parameters nor rows worth reading.
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

/// An open transaction of a service. Dropped, it is rolled back.
pub struct ServiceTransaction {
    transaction: OpenTransaction,
    _gate: OwnedRwLockReadGuard<()>,
}

impl ServiceTransaction {
    /// Makes the changes last.
    pub async fn commit(self) -> Result<(), DbError> {
        self.transaction.commit().await
    }

    /// Undoes the changes.
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

/// A transaction to be, as some caller.
pub struct AsCaller<'a> {
    db: &'a ProjectDb,
    begin: Begin,
    settings: LocalSettings<'a>,
    /// How many of them stand before the role.
    before_role: usize,
}

/// Settings of a request, as a rule.
const USUAL_SETTINGS: usize = 12;

impl<'a> AsCaller<'a> {
    /// Postgres shall refuse every write.
    pub fn read_only(mut self) -> Self {
        self.begin.access = Access::ReadOnly;
        self
    }

    /// What the transaction shall see of others.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.begin.isolation = isolation;
        self
    }

    /// A setting that is made with the login role's rights, before the role changes.
    pub fn setting_before_role(
        mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> Self {
        self.settings.set_at(self.before_role, name, value);
        self.before_role += 1;
        self
    }

    /// A setting of the request, such as `request.method`.
    pub fn setting(
        mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> Self {
        self.settings.set(name, value);
        self
    }

    /// What is set before the first statement.
    pub fn settings(&self) -> &LocalSettings<'a> {
        &self.settings
    }

    /// Runs one statement; the whole transaction is one round trip.
    pub async fn query(self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        let step = [Step::typed(sql, params)];
        let mut rows = self.run(&step, End::Commit).await?;
        Ok(rows.pop().unwrap_or_default())
    }

    /// Runs statements; the whole transaction is one round trip. Gives the rows of each.
    pub async fn run(self, steps: &[Step<'_>], end: End) -> Result<Vec<Vec<Row>>, DbError> {
        let _gate = self.db.0.gate.read().await;
        let pool = self.db.pool(PoolKind::Caller);
        pool.run_steps(self.begin, &self.settings, steps, end).await
    }

    /// Runs the first statements and leaves the transaction open.
    pub async fn begin(
        self,
        steps: &[Step<'_>],
    ) -> Result<(CallerTransaction, Vec<Vec<Row>>), DbError> {
        let gate = self.db.0.gate.clone().read_owned().await;
        let pool = self.db.pool(PoolKind::Caller);
        let (transaction, rows) = pool.begin(self.begin, &self.settings, steps).await?;
        let transaction = CallerTransaction {
            transaction,
            _gate: gate,
        };
        Ok((transaction, rows))
    }
}

/// An open transaction as some caller. Dropped, it is rolled back.
pub struct CallerTransaction {
    transaction: OpenTransaction,
    _gate: OwnedRwLockReadGuard<()>,
}

impl CallerTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.transaction.query(sql, params).await
    }

    /// Makes the changes last.
    pub async fn commit(self) -> Result<(), DbError> {
        self.transaction.commit().await
    }

    /// Undoes the changes.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.transaction.rollback().await
    }
}
