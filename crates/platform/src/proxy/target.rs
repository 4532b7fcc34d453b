//! Which service a call is for, and what it needs.
//!
//! Paths are compared as they were sent, because the services' routers do the same: another spelling of
//! a path is another path to both.

use http::Method;
use plinth_project::{DatabaseAccess, ProjectService};

/// A service and the path below its prefix, percent-encoded as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) service: ProjectService,
    pub(crate) path: &'a str,
}

/// What an operator must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Read rows, files and users.
    Read,
    /// Change them.
    Write,
    /// Change what the project is made of.
    Develop,
}

impl Need {
    /// Whether operators with that access to the database may do it.
    pub(crate) fn is_met_by(self, access: DatabaseAccess) -> bool {
        match access {
            DatabaseAccess::Owner => true,
            DatabaseAccess::Editor => self != Self::Develop,
            DatabaseAccess::Reader => self == Self::Read,
        }
    }
}

/// GET requests that change something: they send mails, use up tokens or begin flows.
const CHANGING_READS: [&str; 6] = [
    "/verify",
    "/authorize",
    "/callback",
    "/reauthenticate",
    "/oauth/authorize",
    "/user/identities/authorize",
];

/// Settings of the auth service that have tables of their own.
const AUTH_SETTINGS: [&str; 3] = ["/admin/oauth", "/admin/custom-providers", "/admin/sso"];

impl<'a> Target<'a> {
    /// From the path of the request, at or below `/projects/{ref}`. `None`: there is nothing of that name.
    pub(crate) fn parse(path: &'a str) -> Option<Self> {
        let (_, called) = path.split_once("/proxy/")?;
        let (name, rest) = called.split_once('/')?;
        let rest = rest.strip_prefix("v1")?;
        let path = match rest {
            "" => "/",
            rest if rest.starts_with('/') => rest,
            _ => return None,
        };
        let target = Self {
            service: ProjectService::from_name(name)?,
            path,
        };
        target.is_offered().then_some(target)
    }

    /// S3 has signatures of its own, and the other paths of realtime are for servers.
    fn is_offered(&self) -> bool {
        match self.service {
            ProjectService::Storage => !is_at_or_below(self.path, "/s3"),
            ProjectService::Realtime => self.path == "/websocket",
            _ => true,
        }
    }

    /// What a call by this method needs.
    pub(crate) fn need(&self, method: &Method) -> Need {
        let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let is_setting = |path: &str| AUTH_SETTINGS.iter().any(|at| is_at_or_below(path, at));
        match self.service {
            ProjectService::Functions => Need::Develop,
            ProjectService::Realtime => Need::Read,
            ProjectService::Auth if is_setting(self.path) => Need::Develop,
            ProjectService::Auth if self.changes_by_reading() => Need::Write,
            ProjectService::Storage if *method == Method::POST && self.is_file_list() => Need::Read,
            _ if is_read => Need::Read,
            _ => Need::Write,
        }
    }

    /// The scope that an access token needs.
    pub(crate) fn scope(&self, need: Need) -> &'static str {
        match (self.service, need) {
            (ProjectService::Auth, Need::Read) => "auth_config_read",
            (ProjectService::Auth, _) => "auth_config_write",
            (ProjectService::Storage, Need::Read) => "storage_read",
            (ProjectService::Storage, _) => "storage_config_write",
            (ProjectService::Functions, _) => "edge_functions_write",
            (_, Need::Read) => "database_read",
            (_, _) => "database_write",
        }
    }

    fn changes_by_reading(&self) -> bool {
        let is_flow = is_at_or_below(self.path, "/oauth/authorizations");
        is_flow
            || CHANGING_READS
                .iter()
                .any(|at| is_at_or_below(self.path, at))
    }

    /// Lists by POST: `/object/list/<bucket>`. With another segment or a slash at the end it is an upload
    /// to a bucket that is called `list`.
    fn is_file_list(&self) -> bool {
        let of_bucket = |prefix: &str| {
            let bucket = self.path.strip_prefix(prefix);
            bucket.is_some_and(|bucket| !bucket.is_empty() && !bucket.contains('/'))
        };
        of_bucket("/object/list/") || of_bucket("/object/list-v2/")
    }

    /// Whether it is a chunk of an upload that a call before has begun.
    pub(crate) fn is_upload_chunk(&self, method: &Method) -> bool {
        self.service == ProjectService::Storage
            && *method == Method::PATCH
            && is_at_or_below(self.path, "/upload/resumable")
    }
}

fn is_at_or_below(path: &str, parent: &str) -> bool {
    let rest = path.strip_prefix(parent);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(method: Method, path: &str) -> Option<Need> {
        let path = format!("/projects/abc/proxy{path}");
        Target::parse(&path).map(|target| target.need(&method))
    }

    #[test]
    fn a_target_is_a_service_and_the_rest_of_the_path() {
        let check = |path: &str, expected: Option<(ProjectService, &str)>| {
            let found = Target::parse(path).map(|it| (it.service, it.path));
            assert_eq!(found, expected, "{path}");
        };
        let rest = ProjectService::Rest;
        check("/projects/a/proxy/rest/v1", Some((rest, "/")));
        check("/projects/a/proxy/rest/v1/", Some((rest, "/")));
        check(
            "/projects/a/proxy/rest/v1/a%2Fb//c",
            Some((rest, "/a%2Fb//c")),
        );
        check(
            "/projects/a/proxy/rest/v1/x/proxy/auth/v1/y",
            Some((rest, "/x/proxy/auth/v1/y")),
        );
        for path in [
            "/projects/a/proxy/rest",
            "/projects/a/proxy/rest/v2/x",
            "/projects/a/proxy/rest/v1x",
            "/projects/a/proxy/graphql/v1/x",
            "/projects/a/proxy/realtime/v1/api/broadcast",
            "/projects/a/proxy/realtime/v1/websocket/",
            "/projects/a/proxy/storage/v1/s3/b/k",
            "/projects/a/proxy//v1/x",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn reading_and_writing_follow_the_method() {
        use Need::{Develop, Read, Write};
        let check = |method, path, expected| {
            assert_eq!(need(method, path), Some(expected), "{path}");
        };
        check(Method::GET, "/rest/v1/films", Read);
        check(Method::HEAD, "/rest/v1/films", Read);
        check(Method::POST, "/rest/v1/rpc/f", Write);
        check(Method::PATCH, "/rest/v1/films", Write);
        check(
            Method::from_bytes(b"PURGE").expect("a method"),
            "/rest/v1/x",
            Write,
        );
        check(Method::GET, "/storage/v1/bucket", Read);
        check(Method::POST, "/storage/v1/bucket", Write);
        check(Method::GET, "/functions/v1/hello", Develop);
        check(Method::GET, "/realtime/v1/websocket", Read);
        check(Method::GET, "/auth/v1/admin/users", Read);
        check(Method::POST, "/auth/v1/admin/users", Write);
        check(Method::GET, "/auth/v1/admin/oauth/clients", Develop);
        check(Method::GET, "/auth/v1/admin/custom-providers", Develop);
        check(Method::GET, "/auth/v1/admin/sso/providers/1", Develop);
        check(Method::GET, "/auth/v1/admin/ssox", Read);
    }

    #[test]
    fn a_list_of_files_is_a_read_and_an_upload_to_a_bucket_of_that_name_is_not() {
        for path in ["/object/list/b", "/object/list-v2/b%2Fc"] {
            let path = format!("/storage/v1{path}");
            assert_eq!(need(Method::POST, &path), Some(Need::Read), "{path}");
            assert_eq!(need(Method::PUT, &path), Some(Need::Write), "{path}");
        }
        for path in [
            "/object/list",
            "/object/list/",
            "/object/list/b/",
            "/object/list/b/key",
            "/object/list-v2/b/key",
            "/object/listing/b",
            "//object/list/b",
        ] {
            let path = format!("/storage/v1{path}");
            assert_eq!(need(Method::POST, &path), Some(Need::Write), "{path}");
        }
    }

    #[test]
    fn reads_that_change_something_are_writes() {
        for path in ["/reauthenticate", "/verify", "/oauth/authorizations/1"] {
            let path = format!("/auth/v1{path}");
            assert_eq!(need(Method::GET, &path), Some(Need::Write), "{path}");
        }
        assert_eq!(need(Method::GET, "/auth/v1/user"), Some(Need::Read));
    }

    #[test]
    fn access_to_the_database_decides() {
        use DatabaseAccess::{Editor, Owner, Reader};
        let met = |access| [Need::Read, Need::Write, Need::Develop].map(|it| it.is_met_by(access));
        assert_eq!(met(Owner), [true, true, true]);
        assert_eq!(met(Editor), [true, true, false]);
        assert_eq!(met(Reader), [true, false, false]);
    }
}
