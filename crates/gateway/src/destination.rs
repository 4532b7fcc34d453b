//! Which project a request is for, from its host and path alone (console contract F1, F2).
//!
//! In this order: a custom domain, `<ref>.<domain>`, `/p/<name>/…`, `/console` for operators, and a
//! service's path on any other host, which is the default project's. Everything else belongs to the
//! instance.

use std::borrow::Cow;

use plinth_project::{CONSOLE, ProjectName, ProjectRef};

/// What a request is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination<'a> {
    /// A path of the instance, on the platform host.
    Instance,
    /// A path of a project.
    Project {
        name: ProjectName,
        addressed: Addressed<'a>,
        /// What follows the project, beginning with a slash.
        path: &'a str,
    },
    /// `/p/` followed by something that is no valid project name.
    NoProject(&'a str),
}

/// How a request named its project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressed<'a> {
    /// By the project's own host.
    Host,
    /// By `/p/<name>`, with the name as the client wrote it.
    Path(&'a str),
    /// Not at all: the default project.
    Bare,
}

/// Maps host and path to a project.
pub(crate) struct ProjectLocator<'a> {
    /// Each project has a host below this domain.
    pub(crate) domain: Option<&'a str>,
    /// The project with this custom domain.
    pub(crate) custom_domain: &'a dyn Fn(&str) -> Option<ProjectName>,
    /// Whether a path belongs to a service, or to the default project's pages.
    pub(crate) is_service: &'a dyn Fn(&str) -> bool,
}

impl ProjectLocator<'_> {
    /// `host` has no port.
    pub(crate) fn locate<'a>(&self, host: &str, path: &'a str) -> Destination<'a> {
        if let Some(name) = self.project_of_host(host) {
            return Destination::Project {
                name,
                addressed: Addressed::Host,
                path,
            };
        }
        if let Some(rest) = path.strip_prefix("/p/") {
            let end = rest.find('/').unwrap_or(rest.len());
            let (name, path) = rest.split_at(end);
            let addressed = Addressed::Path(name);
            let path = if path.is_empty() { "/" } else { path };
            return match name.parse() {
                Ok(parsed) => Destination::Project {
                    name: parsed,
                    addressed,
                    path,
                },
                Err(_) => Destination::NoProject(name),
            };
        }
        if strip_path_prefix(path, CONSOLE).is_some() {
            return Destination::Project {
                name: ProjectName::Platform,
                addressed: Addressed::Path("platform"),
                path,
            };
        }
        if (self.is_service)(path) {
            let name = ProjectName::Default;
            return Destination::Project {
                name,
                addressed: Addressed::Bare,
                path,
            };
        }
        Destination::Instance
    }

    /// Where paths name no project: the host's, else the default one.
    pub(crate) fn locate_by_host<'a>(&self, host: &str, path: &'a str) -> Destination<'a> {
        let (name, addressed) = match self.project_of_host(host) {
            Some(name) => (name, Addressed::Host),
            None => (ProjectName::Default, Addressed::Bare),
        };
        Destination::Project {
            name,
            addressed,
            path,
        }
    }

    fn project_of_host(&self, host: &str) -> Option<ProjectName> {
        let host = canonical_host(host);
        (self.custom_domain)(&host).or_else(|| self.subdomain(&host))
    }

    /// Other names below the domain (such as `www`) are treated as the domain itself.
    fn subdomain(&self, host: &str) -> Option<ProjectName> {
        let label = host.strip_suffix(self.domain?)?.strip_suffix('.')?;
        label.parse::<ProjectRef>().ok().map(ProjectName::Ref)
    }
}

/// A host in lower case and without a dot at its end, as most clients write it.
pub(crate) fn canonical_host(host: &str) -> Cow<'_, str> {
    let host = host.trim_end_matches('.');
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}

/// The rest of a path below a prefix: `/auth/v1/user` and `/auth/v1` give `/user`.
pub(crate) fn strip_path_prefix<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REF: &str = "abcdefghijklmnopqrst";

    fn locate<'a>(host: &str, path: &'a str) -> Destination<'a> {
        let shop = |host: &str| (host == "shop.example").then_some(ProjectName::Platform);
        let names = ProjectLocator {
            domain: Some("plinth.example"),
            custom_domain: &shop,
            is_service: &|path| strip_path_prefix(path, "/auth/v1").is_some(),
        };
        names.locate(host, path)
    }

    fn reference() -> ProjectName {
        ProjectName::Ref(REF.parse().expect("a ref"))
    }

    #[test]
    fn a_host_below_the_domain_is_its_project() {
        for host in [
            "abcdefghijklmnopqrst.plinth.example",
            "ABCDEFGHIJKLMNOPQRST.Plinth.Example.",
        ] {
            let expected = Destination::Project {
                name: reference(),
                addressed: Addressed::Host,
                path: "/v1/projects",
            };
            assert_eq!(locate(host, "/v1/projects"), expected, "{host}");
        }
    }

    #[test]
    fn the_console_belongs_to_the_platform_project() {
        let expected = |path| Destination::Project {
            name: ProjectName::Platform,
            addressed: Addressed::Path("platform"),
            path,
        };
        for path in ["/console", "/console/sign-in"] {
            assert_eq!(locate("plinth.example", path), expected(path));
        }
        assert_eq!(locate("plinth.example", "/consoles"), Destination::Instance);
    }

    #[test]
    fn the_host_wins_over_the_path() {
        let host = "abcdefghijklmnopqrst.plinth.example";
        let path = "/p/default/auth/v1";
        let expected = Destination::Project {
            name: reference(),
            addressed: Addressed::Host,
            path,
        };
        assert_eq!(locate(host, path), expected);
    }

    #[test]
    fn a_custom_domain_wins_over_everything() {
        let expected = Destination::Project {
            name: ProjectName::Platform,
            addressed: Addressed::Host,
            path: "/",
        };
        assert_eq!(locate("shop.example", "/"), expected);
    }

    #[test]
    fn a_path_names_a_project_by_ref_or_alias() {
        let check = |path, name, spelled, rest| {
            let addressed = Addressed::Path(spelled);
            let expected = Destination::Project {
                name,
                addressed,
                path: rest,
            };
            assert_eq!(locate("localhost", path), expected, "{path}");
        };
        check(
            "/p/abcdefghijklmnopqrst/auth/v1/user",
            reference(),
            REF,
            "/auth/v1/user",
        );
        check(
            "/p/platform/auth/v1",
            ProjectName::Platform,
            "platform",
            "/auth/v1",
        );
        check("/p/default", ProjectName::Default, "default", "/");
        check("/p/default/", ProjectName::Default, "default", "/");
    }

    #[test]
    fn where_paths_name_no_project_the_host_does() {
        let shop = |host: &str| (host == "shop.example").then_some(ProjectName::Platform);
        let names = ProjectLocator {
            domain: Some("plinth.example"),
            custom_domain: &shop,
            is_service: &|_| false,
        };
        let check = |host: &str, name, addressed| {
            for path in ["/", "/p/default/key", "/console/key", "/health"] {
                let expected = Destination::Project {
                    name: ProjectName::clone(&name),
                    addressed,
                    path,
                };
                assert_eq!(names.locate_by_host(host, path), expected);
            }
        };
        check("127.0.0.1", ProjectName::Default, Addressed::Bare);
        check("shop.example", ProjectName::Platform, Addressed::Host);
        check(
            "abcdefghijklmnopqrst.plinth.example",
            reference(),
            Addressed::Host,
        );
    }

    #[test]
    fn a_path_may_name_something_that_is_no_project() {
        assert_eq!(
            locate("localhost", "/p/nonsense/auth/v1"),
            Destination::NoProject("nonsense")
        );
        assert_eq!(
            locate("localhost", "/p//auth/v1"),
            Destination::NoProject("")
        );
    }

    #[test]
    fn a_service_on_any_other_host_is_the_default_projects() {
        for host in [
            "localhost",
            "",
            "plinth.example",
            "www.plinth.example",
            "xplinth.example",
        ] {
            let expected = Destination::Project {
                name: ProjectName::Default,
                addressed: Addressed::Bare,
                path: "/auth/v1/health",
            };
            assert_eq!(locate(host, "/auth/v1/health"), expected, "{host}");
        }
    }

    #[test]
    fn everything_else_belongs_to_the_instance() {
        for path in [
            "/",
            "/v1/projects",
            "/platform",
            "/auth/v1x",
            "/auth",
            "//auth/v1",
            "/p",
            "*",
        ] {
            assert_eq!(locate("localhost", path), Destination::Instance, "{path}");
        }
    }

    #[test]
    fn a_prefix_ends_at_a_slash() {
        assert_eq!(strip_path_prefix("/auth/v1", "/auth/v1"), Some("/"));
        assert_eq!(strip_path_prefix("/auth/v1/", "/auth/v1"), Some("/"));
        assert_eq!(
            strip_path_prefix("/auth/v1//a%2Fb", "/auth/v1"),
            Some("//a%2Fb")
        );
        assert_eq!(strip_path_prefix("/auth/v1x", "/auth/v1"), None);
    }
}
