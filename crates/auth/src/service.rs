//! The service: one value for all projects.

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

/// Where a project's settings come from.
enum Source {
    /// Its part of the settings tree.
    Settings,
    /// One set of settings for the only project there is.
    Alone(ArcSwap<AuthConfig>),
}

/// What the service remembers of one project between requests.
#[derive(Default)]
pub(crate) struct ProjectState {
    pub(crate) buckets: Buckets,
    pub(crate) turns: crate::sessions::Turns,
    pub(crate) mail: crate::mail::MailState,
    pub(crate) user_totals: crate::admin::Totals,
    pub(crate) user_milestones: crate::admin::KeptMilestones,
    pub(crate) user_search: crate::admin::SearchIndex,
    pub(crate) audit_totals: crate::admin::Totals,
}

impl AuthService {
    /// For the full server.
    pub fn new() -> Self {
        Self::with(Source::Settings, Clock::default())
    }

    /// In place of GoTrue.
    pub fn alone(config: AuthConfig) -> Self {
        let source = Source::Alone(ArcSwap::from_pointee(config));
        Self::with(source, Clock::default())
    }

    /// For the full server, with a clock that can be moved.
    pub fn with_clock(clock: Clock) -> Self {
        Self::with(Source::Settings, clock)
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
            Source::Settings => project.config::<AuthConfig>(),
            Source::Alone(config) => config.load_full(),
        }
    }

    pub(crate) fn state(&self, project: &Project) -> Arc<ProjectState> {
        project.attached(ProjectState::default)
    }

    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.0.source, Source::Alone(_))
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.0.hasher
    }

    /// For calls to other services; redirects are not followed.
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
