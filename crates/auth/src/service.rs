//! The auth service, shared by all projects.

use std::sync::Arc;

use arc_swap::ArcSwap;
use plinth_project::Project;

use crate::{AuthConfig, Clock, oauth::Discovery, password::Hasher, rate_limit::Buckets};

/// The auth service. Cheap to clone.
#[derive(Clone)]
pub struct AuthService(Arc<Inner>);

struct Inner {
    source: Source,
    hasher: Hasher,
    http: reqwest::Client,
    discovery: Discovery,
    clock: Clock,
}

/// The source of a project's settings.
enum Source {
    /// The project's settings.
    Settings { is_local: bool },
    /// Fixed settings of the only project.
    Standalone(ArcSwap<AuthConfig>),
}

/// The in-memory state of one project.
#[derive(Default)]
pub(crate) struct ProjectState {
    pub(crate) buckets: Buckets,
    pub(crate) refresh_queue: crate::sessions::RefreshQueue,
    pub(crate) send_durations: crate::timing::SendDurations,
    pub(crate) mail: crate::mail::MailState,
    pub(crate) user_totals: crate::admin::TotalCache,
    pub(crate) user_milestones: crate::admin::MilestoneCache,
    pub(crate) common_pieces: crate::admin::CommonPiecesCache,
    pub(crate) audit_totals: crate::admin::TotalCache,
    pub(crate) hook_calls: crate::hooks::Journal,
}

impl AuthService {
    /// For the full server.
    pub fn new() -> Self {
        Self::with(Source::Settings { is_local: false }, Clock::default())
    }

    /// For the full server on a developer's machine, reached over loopback only: rate limits by
    /// address apply where they are configured.
    pub fn local() -> Self {
        Self::with(Source::Settings { is_local: true }, Clock::default())
    }

    /// Replaces GoTrue for one project.
    pub fn standalone(config: AuthConfig) -> Self {
        let source = Source::Standalone(ArcSwap::from_pointee(config));
        Self::with(source, Clock::default())
    }

    /// For the full server, with another clock.
    pub fn with_clock(clock: Clock) -> Self {
        Self::with(Source::Settings { is_local: false }, clock)
    }

    fn with(source: Source, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            source,
            hasher: Hasher::new(),
            http: crate::outgoing::client(),
            discovery: Discovery::default(),
            clock,
        }))
    }

    pub(crate) fn config(&self, project: &Project) -> Arc<AuthConfig> {
        match &self.0.source {
            Source::Settings { .. } => project.config::<AuthConfig>(),
            Source::Standalone(config) => config.load_full(),
        }
    }

    pub(crate) fn state(&self, project: &Project) -> Arc<ProjectState> {
        project.service_state(ProjectState::default)
    }

    pub(crate) fn is_local(&self) -> bool {
        matches!(self.0.source, Source::Settings { is_local: true })
    }

    pub(crate) fn is_standalone(&self) -> bool {
        matches!(self.0.source, Source::Standalone(_))
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.0.hasher
    }

    /// The client for calls to other services. It does not follow redirects.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.0.http
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        &self.0.discovery
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl Default for AuthService {
    fn default() -> Self {
        Self::new()
    }
}
