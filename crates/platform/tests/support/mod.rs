//! A platform of its own for every test, on the shared test server.
#![allow(dead_code, unreachable_pub)]

pub mod functions;
pub mod operators;

use std::{sync::Arc, time::Duration};

use plinth_db::{PoolConfig, Target, migrate::MigrationSet};
use plinth_log::{LogStore, WriterThread};
use plinth_platform::{
    Bootstrap, ConfiguredKeys, ConnectionShare, DefaultDatabase, Endpoints, Platform,
    ProjectRequest, SecondFactor, StoredToken, TokenLimits, TokenRequest,
};
use plinth_project::{
    Caller, Credentials, Directory, Project, ProjectKind, ProjectName, Registry, RegistryParts,
};
use plinth_settings::{Loader, Settings};
use plinth_testkit::{TestServer, system_schemas};
use plinth_token::{InstanceKey, Secret};

pub use plinth_testkit::now;

/// Few for owners, so that a test can use them up.
pub const CONNECTIONS: ConnectionShare = ConnectionShare {
    owner: Some(5),
    pool_size: 4,
};

pub struct TestPlatform {
    pub platform: Platform,
    pub registry: Registry,
    pub logs: LogStore,
    pub instance_key: InstanceKey,
    pub default_database: String,
    _writer: WriterThread,
    _folder: tempfile::TempDir,
}

impl TestPlatform {
    pub async fn start() -> Self {
        let database = format!("default_{}", uuid::Uuid::new_v4().simple());
        Self::start_on(database, InstanceKey::generate(), ConfiguredKeys::default()).await
    }

    /// Where operators need no second factor.
    pub async fn start_without_second_factor() -> Self {
        let database = format!("default_{}", uuid::Uuid::new_v4().simple());
        Self::start_needing(
            DefaultDatabase::Managed(database),
            InstanceKey::generate(),
            ConfiguredKeys::default(),
            SecondFactor::Optional,
        )
        .await
    }

    /// With a default project in a database that was there before.
    pub async fn start_external() -> Self {
        let database = format!("external_{}", uuid::Uuid::new_v4().simple());
        let admin = TestServer::shared().await.admin();
        let admin = admin.connect().await.expect("the server");
        let sql = format!("create database {database} template template0");
        admin.batch_execute(&sql).await.expect("a database");
        let external = DefaultDatabase::External(database);
        Self::start_in(external, InstanceKey::generate(), ConfiguredKeys::default()).await
    }

    pub async fn start_with(configured_keys: ConfiguredKeys) -> Self {
        let database = format!("default_{}", uuid::Uuid::new_v4().simple());
        Self::start_on(database, InstanceKey::generate(), configured_keys).await
    }

    /// The same platform again, as after a restart of the process.
    pub async fn restart(self) -> Self {
        let Self {
            default_database,
            instance_key,
            ..
        } = self;
        Self::start_on(default_database, instance_key, ConfiguredKeys::default()).await
    }

    async fn start_on(
        database: String,
        instance_key: InstanceKey,
        configured_keys: ConfiguredKeys,
    ) -> Self {
        Self::start_in(
            DefaultDatabase::Managed(database),
            instance_key,
            configured_keys,
        )
        .await
    }

    async fn start_in(
        default_database: DefaultDatabase,
        instance_key: InstanceKey,
        configured_keys: ConfiguredKeys,
    ) -> Self {
        let second_factor = SecondFactor::Required;
        Self::start_needing(
            default_database,
            instance_key,
            configured_keys,
            second_factor,
        )
        .await
    }

    async fn start_needing(
        default_database: DefaultDatabase,
        instance_key: InstanceKey,
        configured_keys: ConfiguredKeys,
        second_factor: SecondFactor,
    ) -> Self {
        let (DefaultDatabase::Managed(database) | DefaultDatabase::External(database)) =
            default_database.clone();
        let server = TestServer::shared().await;
        let folder = tempfile::tempdir().expect("a folder for logs");
        let (logs, writer) =
            LogStore::open(folder.path(), plinth_log::Config::default()).expect("a log store");
        let bootstrap = Bootstrap {
            maintenance: server.admin(),
            default_database,
            instance_key: copy_of(&instance_key),
            schemas: system_schemas(),
            configured_keys,
            default_owner_password: Some(Secret::new("postgres")),
            connections: CONNECTIONS,
            isolates_by_default: false,
            second_factor,
            trash: Duration::from_secs(0),
            logs: logs.clone(),
        };
        let platform = bootstrap.run().await.expect("a prepared cluster");
        let registry = registry(&platform, &logs, system_schemas()).await;
        platform.attach_auth(plinth_auth::routes(plinth_auth::AuthService::local()));
        platform.attach(
            registry.clone(),
            Endpoints {
                api_url: "http://127.0.0.1:54321".to_owned(),
                database: Some(("127.0.0.1".to_owned(), 54322)),
                domain: None,
                external_database: None,
            },
        );
        Self {
            platform,
            registry,
            logs,
            instance_key,
            default_database: database,
            _writer: writer.start().expect("a log writer"),
            _folder: folder,
        }
    }

    /// Another registry over the same projects, as a newer program would have it.
    pub async fn registry_with(&self, set: MigrationSet) -> Registry {
        let mut schemas = system_schemas();
        schemas.push(set);
        registry(&self.platform, &self.logs, schemas).await
    }

    /// Another registry that looks projects up elsewhere.
    pub async fn registry_over(&self, directory: Arc<dyn Directory>) -> Registry {
        registry_over(directory, &self.platform, &self.logs, system_schemas()).await
    }

    /// A new project, by its name.
    pub async fn project(&self, name: &str) -> ProjectName {
        let request = ProjectRequest {
            name: name.to_owned(),
            ..ProjectRequest::default()
        };
        let row = self
            .platform
            .create_project(&request)
            .await
            .expect("a project");
        assert_eq!(row.kind, ProjectKind::Ordinary);
        ProjectName::Ref(row.reference)
    }

    /// A token without limits.
    pub async fn token(&self, name: &str) -> (StoredToken, Secret) {
        self.token_with(name, TokenLimits::default()).await
    }

    pub async fn token_with(&self, name: &str, limits: TokenLimits) -> (StoredToken, Secret) {
        let request = TokenRequest {
            name: name.to_owned(),
            limits,
            ..TokenRequest::default()
        };
        let made = self.platform.create_token(&request).await;
        made.expect("a token")
    }

    pub async fn open(&self, name: &ProjectName) -> Project {
        self.registry.get(name).await.expect("the project opens")
    }

    /// The caller with this bearer token.
    pub fn caller(project: &Project, bearer: &str) -> Result<Caller, plinth_project::CallerError> {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            "authorization",
            format!("Bearer {bearer}").parse().expect("a header"),
        );
        Credentials::read(project, &headers, None, now()).caller()
    }

    /// The server as one of the project's login roles sees it.
    pub async fn login(&self, user: &str, password: &str, database: &str) -> Target {
        TestServer::shared()
            .await
            .admin()
            .login(user, password)
            .database(database)
    }
}

async fn registry(platform: &Platform, logs: &LogStore, schemas: Vec<MigrationSet>) -> Registry {
    registry_over(Arc::new(platform.clone()), platform, logs, schemas).await
}

async fn registry_over(
    directory: Arc<dyn Directory>,
    platform: &Platform,
    logs: &LogStore,
    schemas: Vec<MigrationSet>,
) -> Registry {
    Registry::new(RegistryParts {
        directory,
        servers: Arc::new(platform.clone()),
        schemas,
        pool: PoolConfig {
            size: 4,
            ..PoolConfig::default()
        },
        logs: logs.clone(),
        settings_for: Box::new(|record| {
            let loaded = Loader::new().stored(record.settings.clone()).load()?;
            Ok::<Settings, _>(loaded.settings)
        }),
    })
}

/// Keys are not cloned in the program; a test may hold two.
pub fn copy_of(key: &InstanceKey) -> InstanceKey {
    InstanceKey::from_text(key.to_text().expose()).expect("its own text")
}
