//! The REST service: one value for all projects.

use std::sync::Arc;

use arc_swap::ArcSwap;
use plinth_project::{Cors, Project};
use tokio::sync::Notify;

use crate::{
    RestConfig,
    snapshot::{SettingsRole, SnapshotCache},
};

/// The REST service. Cheap to clone.
#[derive(Clone)]
pub struct RestService(Arc<ConfigSource>);

/// Where a project's settings come from.
enum ConfigSource {
    /// The full server: the project's part of the settings tree.
    Settings,
    /// `plinth serve rest`: one set of settings for its only project.
    Standalone {
        config: ArcSwap<RestConfig>,
        config_reload: Arc<Notify>,
        listen_address: (String, u16),
    },
}

impl RestService {
    /// For the full server.
    pub fn new() -> Self {
        Self(Arc::new(ConfigSource::Settings))
    }

    /// For `plinth serve rest`, which replaces PostgREST and listens at this host and port.
    pub fn standalone(config: RestConfig, listen_address: (String, u16)) -> Self {
        Self(Arc::new(ConfigSource::Standalone {
            config: ArcSwap::from_pointee(config),
            config_reload: Arc::default(),
            listen_address,
        }))
    }

    /// Loads the schema cache again, and waits until that has succeeded or failed.
    pub async fn reload_schema(&self, project: &Project) {
        let base = self.base_config(project);
        self.snapshots(project, &base).reload(base).await;
    }

    /// Replaces the settings of a standalone service, and reloads.
    pub async fn reload_config(&self, project: &Project, config: RestConfig) {
        if let ConfigSource::Standalone {
            config: current, ..
        } = &*self.0
        {
            current.store(Arc::new(config));
        }
        self.reload_schema(project).await;
    }

    /// Completes when `NOTIFY pgrst, 'reload config'` asks a standalone service to read its
    /// settings again.
    pub async fn config_reload_requested(&self) {
        match &*self.0 {
            ConfigSource::Settings => std::future::pending().await,
            ConfigSource::Standalone { config_reload, .. } => config_reload.notified().await,
        }
    }

    /// Whether the schema cache was loaded, so that requests can be served.
    pub fn is_ready(&self, project: &Project) -> bool {
        let base = self.base_config(project);
        self.snapshots(project, &base).latest().is_some()
    }

    /// The schema cache as JSON.
    pub fn schema_dump(&self, project: &Project) -> Option<String> {
        let base = self.base_config(project);
        let snapshot = self.snapshots(project, &base).latest()?;
        Some(snapshot.dump())
    }

    /// The settings, without those in the database.
    pub(crate) fn base_config(&self, project: &Project) -> Arc<RestConfig> {
        match &*self.0 {
            ConfigSource::Settings => project.config::<RestConfig>(),
            ConfigSource::Standalone { config, .. } => config.load_full(),
        }
    }

    /// The project's snapshots, whose load task starts with the first call.
    pub(crate) fn snapshots(
        &self,
        project: &Project,
        base: &Arc<RestConfig>,
    ) -> Arc<SnapshotCache> {
        project.service_state(|| {
            let (settings_role, config_reload) = match &*self.0 {
                ConfigSource::Settings => (SettingsRole::Authenticator, Arc::default()),
                ConfigSource::Standalone { config_reload, .. } => {
                    (SettingsRole::Login, config_reload.clone())
                }
            };
            SnapshotCache::start(project, base.clone(), settings_role, config_reload)
        })
    }

    pub(crate) fn listen_address(&self) -> Option<(&str, u16)> {
        match &*self.0 {
            ConfigSource::Settings => None,
            ConfigSource::Standalone { listen_address, .. } => {
                Some((&listen_address.0, listen_address.1))
            }
        }
    }

    pub(crate) fn cors(&self, config: &RestConfig) -> Cors {
        let exposed = match &*self.0 {
            ConfigSource::Settings => EXPOSED_HEADERS,
            ConfigSource::Standalone { .. } => POSTGREST_EXPOSED_HEADERS,
        };
        Cors::any()
            .origins(config.cors_allowed_origins.iter().cloned())
            .methods("GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD")
            .allow("Authorization")
            .allow_if_requested("Accept, Accept-Language, Content-Language")
            .expose(exposed)
            .max_age(86_400)
    }
}

impl Default for RestService {
    fn default() -> Self {
        Self::new()
    }
}

/// `Access-Control-Expose-Headers` of PostgREST.
const POSTGREST_EXPOSED_HEADERS: &str = "Content-Encoding, Content-Location, Content-Range, \
     Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit";
/// The same, and headers that scripts need too, such as `Retry-After`.
const EXPOSED_HEADERS: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, \
     Date, Location, Server, Transfer-Encoding, Range-Unit, Preference-Applied, Proxy-Status, \
     Retry-After, Server-Timing, Content-Profile";
