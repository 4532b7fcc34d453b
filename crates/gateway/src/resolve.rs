//! How the edge finds projects.

use plinth_project::{BoxFuture, OpenError, Project, ProjectName, Registry};

/// Where projects come from: the [`Registry`], or something smaller in tests.
pub trait Resolve: Send + Sync + 'static {
    /// The project of that name, opened if it was not.
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Project, OpenError>>;

    /// Those that are open now, for their numbers in `/metrics`.
    fn open_projects(&self) -> Vec<Project> {
        Vec::new()
    }

    /// Whose custom domain this host is: the first thing that is asked about a request, and so
    /// from memory. `host` is in lower case and has no port.
    fn custom_domain(&self, _host: &str) -> Option<ProjectName> {
        None
    }
}

impl Resolve for Registry {
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Project, OpenError>> {
        Box::pin(self.get(name))
    }

    fn open_projects(&self) -> Vec<Project> {
        Registry::open_projects(self)
    }
}
