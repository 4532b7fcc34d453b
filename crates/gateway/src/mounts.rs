//! What the edge serves: services below a prefix, and the instance's own pages.

use std::time::Duration;

use axum::Router;
use plinth_log::Source;

use crate::destination::below;

/// Everything that is served. The binary hands it over.
pub struct Mounts {
    services: Vec<Mount>,
    pub(crate) platform: Router,
    pub(crate) landing: Router,
}

/// One service of every project.
pub struct Mount {
    pub(crate) prefix: &'static str,
    pub(crate) source: Source,
    pub(crate) router: Router,
    pub(crate) time_limit: TimeLimit,
    pub(crate) has_foreign_pages: bool,
}

/// How long a service may take until its answer begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimeLimit {
    /// As the settings say.
    Configured,
    /// Its own; `None` means that it watches the time itself.
    Own(Option<Duration>),
}

impl Mounts {
    /// `platform` serves everything that no project does, at the root of the platform host;
    /// `landing` serves `/` there. The outermost fallback is the edge's.
    pub fn new(platform: Router, landing: Router) -> Self {
        Self {
            services: Vec::new(),
            platform,
            landing,
        }
    }

    /// Adds a service.
    #[must_use]
    pub fn service(mut self, mount: Mount) -> Self {
        self.services.push(mount);
        // The longest prefix is tried first, so that one may lie below another.
        self.services
            .sort_by_key(|mount| std::cmp::Reverse(mount.prefix.len()));
        self
    }

    /// The service that a project's path belongs to, and the path without its prefix.
    pub(crate) fn find<'a>(&self, path: &'a str) -> Option<(&Mount, &'a str)> {
        self.services
            .iter()
            .find_map(|mount| Some((mount, below(path, mount.prefix)?)))
    }
}

impl Mount {
    /// `router` sees the path without `prefix` (`/auth/v1/health` as `/health`); the whole one is
    /// in `axum::extract::OriginalUri`.
    pub fn new(prefix: &'static str, source: Source, router: Router) -> Self {
        let time_limit = TimeLimit::Configured;
        Self {
            prefix,
            source,
            router,
            time_limit,
            has_foreign_pages: false,
        }
    }

    /// Another time until an answer begins than the settings say.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = TimeLimit::Own(Some(limit));
        self
    }

    /// The service watches the time itself.
    #[must_use]
    pub fn without_time_limit(mut self) -> Self {
        self.time_limit = TimeLimit::Own(None);
        self
    }

    /// Its pages are written by users: they are shown in a sandbox, apart from our own.
    #[must_use]
    pub fn with_foreign_pages(mut self) -> Self {
        self.has_foreign_pages = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_takes_the_path() {
        let mounts = Mounts::new(Router::new(), Router::new())
            .service(Mount::new("/storage/v1", Source::Storage, Router::new()))
            .service(Mount::new("/storage/v1/s3", Source::Api, Router::new()));

        let find = |path| mounts.find(path).map(|(mount, rest)| (mount.prefix, rest));

        assert_eq!(find("/storage/v1/s3/b"), Some(("/storage/v1/s3", "/b")));
        assert_eq!(find("/storage/v1/s3x"), Some(("/storage/v1", "/s3x")));
        assert_eq!(find("/storage"), None);
    }
}
