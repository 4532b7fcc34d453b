//! What the edge serves: services below a prefix, and the instance's own pages.

use std::{sync::Arc, time::Duration};

use axum::Router;
use plinth_log::Source;

use crate::destination::below;

/// Everything that is served. The binary hands it over.
pub struct Mounts {
    services: Vec<Mount>,
    pages: Option<Pages>,
    pub(crate) platform: Router,
    pub(crate) landing: Router,
}

/// The pages of every project: everything below it that no service takes.
struct Pages {
    mount: Mount,
    /// Which paths of a host that names no project are the default project's pages.
    are_default: IsPage,
}

/// Whether a path is a page.
type IsPage = Arc<dyn Fn(&str) -> bool + Send + Sync>;

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
            pages: None,
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

    /// Adds the pages of projects. Their router gets the whole path below the project, and answers
    /// what is no page with [`plinth_project::NotServed`]. `is_page` tells on hosts that name no
    /// project which paths are the default project's.
    #[must_use]
    pub fn pages(
        mut self,
        source: Source,
        router: Router,
        is_page: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.pages = Some(Pages {
            mount: Mount::new("", source, router),
            are_default: Arc::new(is_page),
        });
        self
    }

    /// Whether a path of a host that names no project is the default project's.
    pub(crate) fn is_of_project(&self, path: &str) -> bool {
        let is_page = |pages: &Pages| (pages.are_default)(path);
        self.find(path).is_some() || self.pages.as_ref().is_some_and(is_page)
    }

    /// What answers a project's path: a service without its prefix, else the pages.
    pub(crate) fn find_or_pages<'a>(&self, path: &'a str) -> Option<(&Mount, &'a str)> {
        let pages = || Some((&self.pages.as_ref()?.mount, path));
        self.find(path).or_else(pages)
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

    #[test]
    fn pages_take_what_no_service_does() {
        let is_page = |path: &str| path == "/sign-in";
        let mounts = Mounts::new(Router::new(), Router::new())
            .service(Mount::new("/auth/v1", Source::Auth, Router::new()))
            .pages(Source::Api, Router::new(), is_page);

        let find = |path| {
            let found = mounts.find_or_pages(path);
            found.map(|(mount, rest)| (mount.prefix, rest))
        };

        assert_eq!(find("/auth/v1/user"), Some(("/auth/v1", "/user")));
        assert_eq!(find("/anything"), Some(("", "/anything")));
        assert!(mounts.is_of_project("/sign-in") && mounts.is_of_project("/auth/v1"));
        assert!(!mounts.is_of_project("/anything"));
    }
}
