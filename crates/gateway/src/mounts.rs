//! The routers that the edge serves: services below a prefix, pages, and the platform's API.

use std::{sync::Arc, time::Duration};

use axum::Router;
use http::Method;
use plinth_log::Source;

use crate::{api_key::KeyRule, destination::strip_path_prefix};

/// All routers, given by the binary.
pub struct Mounts {
    services: Vec<Mount>,
    pages: Option<Pages>,
    /// Whether one service has every path. Projects are named by their hosts only then.
    pub(crate) has_one_service: bool,
    pub(crate) platform: Router,
    pub(crate) landing: Router,
}

/// The pages of every project: paths that belong to no service.
struct Pages {
    mount: Mount,
    /// Which paths on a host that names no project are the default project's pages.
    is_default_page: IsPage,
}

/// Whether a path is a page.
type IsPage = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// One service of every project.
#[derive(Clone)]
pub struct Mount {
    pub(crate) prefix: &'static str,
    pub(crate) source: Source,
    pub(crate) router: Router,
    pub(crate) timeout: ResponseTimeout,
    pub(crate) serves_user_content: bool,
    pub(crate) key_rule: Option<KeyRule>,
    pub(crate) has_filters_in_query: bool,
    /// Whether it serves the projects' pages, which are our own.
    pub(crate) is_pages: bool,
}

/// Timeout until a service's response begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseTimeout {
    /// `plinth.limits.request_timeout`.
    Configured,
    /// The service's own; `None`: it enforces its timeouts itself.
    Own(Option<Duration>),
}

impl Mounts {
    /// `platform` serves all paths that belong to no project; `landing` serves `/`. The edge adds a
    /// fallback to both.
    pub fn new(platform: Router, landing: Router) -> Self {
        Self {
            services: Vec::new(),
            pages: None,
            has_one_service: false,
            platform,
            landing,
        }
    }

    /// One service at every path, for a port of its own. Its router sees the whole path. The project
    /// is named by the host, or else it is the default one. What it serves may be written by users:
    /// cookies know no ports.
    pub fn only(source: Source, router: Router) -> Self {
        let service = Mount::new("", source, router)
            .without_timeout()
            .with_user_content();
        Self {
            has_one_service: true,
            ..Self::new(Router::new(), Router::new()).service(service)
        }
    }

    /// Adds a service.
    #[must_use]
    pub fn service(mut self, mount: Mount) -> Self {
        self.services.push(mount);
        // The longest prefix is tried first, so that one may be below another.
        self.services
            .sort_by_key(|mount| std::cmp::Reverse(mount.prefix.len()));
        self
    }

    /// Adds the pages of projects. Their router gets the whole path below the project, and marks its
    /// response with [`plinth_project::PathNotFound`] where there is no page. `is_page` says which paths
    /// are the default project's pages on a host that names no project.
    #[must_use]
    pub fn pages(
        mut self,
        source: Source,
        router: Router,
        is_page: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.pages = Some(Pages {
            mount: Mount {
                is_pages: true,
                ..Mount::new("", source, router)
            },
            is_default_page: Arc::new(is_page),
        });
        self
    }

    /// The services, without pages.
    pub(crate) fn services(&self) -> &[Mount] {
        &self.services
    }

    /// Whether a path on a host that names no project is the default project's.
    pub(crate) fn is_default_project_path(&self, path: &str) -> bool {
        let is_page = |pages: &Pages| (pages.is_default_page)(path);
        self.find(path).is_some() || self.pages.as_ref().is_some_and(is_page)
    }

    /// The mount for a project's path: a service, with the rest of the path, else the pages.
    pub(crate) fn find_or_pages<'a>(&self, path: &'a str) -> Option<(&Mount, &'a str)> {
        let pages = || Some((&self.pages.as_ref()?.mount, path));
        self.find(path).or_else(pages)
    }

    /// The service that a project's path belongs to, and the path without its prefix.
    pub(crate) fn find<'a>(&self, path: &'a str) -> Option<(&Mount, &'a str)> {
        self.services
            .iter()
            .find_map(|mount| Some((mount, strip_path_prefix(path, mount.prefix)?)))
    }
}

impl Mount {
    /// `router` sees the path without `prefix` (`/auth/v1/health` as `/health`); the whole one is
    /// in `axum::extract::OriginalUri`.
    pub fn new(prefix: &'static str, source: Source, router: Router) -> Self {
        let timeout = ResponseTimeout::Configured;
        Self {
            prefix,
            source,
            router,
            timeout,
            serves_user_content: false,
            key_rule: None,
            has_filters_in_query: false,
            is_pages: false,
        }
    }

    /// Overrides the timeout until a response begins.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = ResponseTimeout::Own(Some(limit));
        self
    }

    /// The service enforces its timeouts itself.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = ResponseTimeout::Own(None);
        self
    }

    /// It serves documents written by users: they get a sandboxing `Content-Security-Policy`.
    #[must_use]
    pub fn with_user_content(mut self) -> Self {
        self.serves_user_content = true;
        self
    }

    /// Requests need an API key or a valid access token of the project, except those for which
    /// `is_open` returns true. It gets the path below the prefix. Preflights need none.
    #[must_use]
    pub fn requires_api_key(
        mut self,
        is_open: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.key_rule = Some(KeyRule::new(is_open));
        self
    }

    /// Requests for which `is_optional` returns true need no API key, but one that they have must be valid.
    #[must_use]
    pub fn with_optional_api_key(
        mut self,
        is_optional: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.key_rule = self.key_rule.map(|rule| rule.with_optional(is_optional));
        self
    }

    /// The service checks bearer tokens itself, because it accepts more of them than the edge does: a request
    /// needs some credential, and only API keys are checked at the edge.
    #[must_use]
    pub fn with_own_token_check(mut self) -> Self {
        self.key_rule = self.key_rule.map(KeyRule::without_token_check);
        self
    }

    /// Its query consists of filters, so a key in the query is removed once it was used.
    #[must_use]
    pub fn with_filters_in_query(mut self) -> Self {
        self.has_filters_in_query = true;
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
        assert!(
            mounts.is_default_project_path("/sign-in")
                && mounts.is_default_project_path("/auth/v1")
        );
        assert!(!mounts.is_default_project_path("/anything"));
    }
}
