//! How the edge finds projects.

use plinth_project::{BoxFuture, OpenError, Project, ProjectName, Registry};

/// Where projects come from: the [`Registry`], or something smaller in tests.
pub trait Resolve: Send + Sync + 'static {
    /// The project of that name; opens it if necessary.
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Project, OpenError>>;

    /// The open projects, for `/metrics`.
    fn open_projects(&self) -> Vec<Project> {
        Vec::new()
    }

    /// The project with this custom domain. Called for every request, so it must be served from
    /// memory. `host` is in lower case and has no port.
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
