//! What each call needs: a token's scope, the operator's capability, and whether the second factor must be
//! fresh. One table ([`table`]), one row per method and route; a call without a row is refused, and a test
//! compares the table with the routes.

mod table;

use std::{collections::HashMap, sync::LazyLock};

use axum::http::Method;

use crate::{PlatformError, TokenLimits, members::Capability};

/// What a call requires of an access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredScope {
    /// Any valid token.
    Nothing,
    /// One of these scopes.
    OneOf(&'static [&'static str]),
    /// This scope, with access to all projects.
    OnAllProjects(&'static str),
    /// No token at all.
    NoToken,
}

/// What a call requires of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// No operator: the call has a check of its own.
    Nothing,
    /// An operator, even without the second factor that is needed elsewhere.
    Enrolling,
    /// An operator.
    SignedIn,
    /// A capability on the project `{ref}`.
    OnProject(Capability),
    /// A capability on the branch `{id}`.
    OnBranch(Capability),
    /// A role in the organization `{slug}` or on one of its projects.
    SeesOrganization,
    /// A capability in the organization `{slug}`.
    InOrganization(Capability),
    /// A capability on the whole instance.
    OnInstance(Capability),
    /// A capability somewhere; the handler checks where.
    Somewhere(Capability),
    /// The operating-system user who started the server.
    ControlSocket,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// The HTTP method.
    pub method: &'static str,
    /// The pattern of the route.
    pub route: &'static str,
    /// What an operator needs.
    pub needs: Needs,
    /// Whether it reveals or destroys, so that the second factor must be fresh.
    pub is_sensitive: bool,
    pub(super) scope: RequiredScope,
}

impl Access {
    const fn new(
        method: &'static str,
        route: &'static str,
        scope: RequiredScope,
        needs: Needs,
    ) -> Self {
        Self {
            method,
            route,
            scope,
            needs,
            is_sensitive: false,
        }
    }

    /// For what reveals or destroys.
    const fn sensitive(mut self) -> Self {
        self.is_sensitive = true;
        self
    }

    /// Whether a refused attempt is written to the audit log.
    pub(super) fn is_privileged(&self) -> bool {
        self.is_sensitive || self.method != "GET"
    }
}

/// In a row for all methods that have none of their own.
const ANY: &str = "ANY";

static BY_ROUTE: LazyLock<HashMap<(&str, &str), &Access>> = LazyLock::new(|| {
    let rows = table::TABLE.iter();
    rows.map(|row| ((row.method, row.route), row)).collect()
});

/// The row of a call.
pub(super) fn find(method: &Method, route: &str) -> Option<&'static Access> {
    let method = if *method == Method::HEAD {
        "GET"
    } else {
        method.as_str()
    };
    let row = BY_ROUTE.get(&(method, route));
    row.or_else(|| BY_ROUTE.get(&(ANY, route))).copied()
}

/// All rows, for tests and documentation.
pub fn access_table() -> &'static [Access] {
    &table::TABLE
}

/// Whether a token has the scope of a call; access to the project is checked separately.
pub(super) fn check_scope(
    limits: &TokenLimits,
    required: RequiredScope,
) -> Result<(), PlatformError> {
    let forbidden = |message: &str| Err(PlatformError::Forbidden(message.to_owned()));
    match required {
        RequiredScope::Nothing => Ok(()),
        RequiredScope::OneOf(scopes) if scopes.iter().any(|scope| limits.allow(scope)) => Ok(()),
        RequiredScope::OneOf(scopes) => Err(missing_scope(limits, scopes)),
        RequiredScope::OnAllProjects(scope) if !limits.allow(scope) => {
            Err(missing_scope(limits, &[scope]))
        }
        RequiredScope::OnAllProjects(_) if limits.projects.is_none() => Ok(()),
        RequiredScope::OnAllProjects(_) => {
            forbidden("This access token is bound to projects, and this concerns all of them")
        }
        RequiredScope::NoToken => forbidden(
            "An access token may not do this; use the console, or `plinth` on the server's own machine",
        ),
    }
}

pub(super) fn missing_scope(limits: &TokenLimits, scopes: &[&str]) -> PlatformError {
    let scopes = scopes.join(" or ");
    PlatformError::Forbidden(if limits.read_only {
        format!("This access token is read-only; this needs the scope {scopes}")
    } else {
        format!("This access token may not do this; it needs the scope {scopes}")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Methods and routes in the source of `mod.rs`, here and for the catalogue.
    fn routes() -> BTreeSet<(String, String)> {
        let source = include_str!("../mod.rs");
        let catalog = include_str!("../pg/mod.rs");
        let management = source.find("fn management_routes").expect("a function");
        let own = source.find("fn platform_routes").expect("a function");
        let mut routes = BTreeSet::new();
        for (text, prefix) in [
            (&source[management..own], "/v1"),
            (&source[own..], "/platform"),
            (catalog, "/pg/{ref}"),
        ] {
            for call in text.split(".route(").skip(1) {
                let path = call.split('"').nth(1).expect("a path");
                let handlers = call.split(".fallback").next().expect("a part");
                for method in ["get", "post", "put", "patch", "delete", "any"] {
                    let is_called = [format!(" {method}("), format!(".{method}(")];
                    if is_called
                        .iter()
                        .any(|text| handlers.contains(text.as_str()))
                    {
                        routes.insert((method.to_uppercase(), format!("{prefix}{path}")));
                    }
                }
            }
        }
        routes
    }

    #[test]
    fn every_route_has_a_row_and_every_row_a_route() {
        let rows = access_table()
            .iter()
            .map(|row| (row.method.to_owned(), row.route.to_owned()))
            .collect::<Vec<_>>();
        let known: BTreeSet<_> = rows.iter().cloned().collect();
        assert_eq!(rows.len(), known.len(), "a row is there twice");
        let routes = routes();
        assert!(routes.len() > 70, "{}", routes.len());

        let missing: Vec<_> = routes.difference(&known).collect();
        let stale: Vec<_> = known.difference(&routes).collect();

        assert!(missing.is_empty(), "routes without a row: {missing:?}");
        assert!(stale.is_empty(), "rows without a route: {stale:?}");
    }

    #[test]
    fn what_a_row_needs_is_in_its_route() {
        for row in access_table() {
            let names: &[&str] = match row.needs {
                Needs::OnProject(_) => &["{ref}"],
                Needs::OnBranch(_) => &["{id}"],
                Needs::SeesOrganization | Needs::InOrganization(_) => &["{slug}"],
                _ => &[],
            };
            for name in names {
                assert!(row.route.contains(name), "{row:?}");
            }
            let about_a_project = row.route.contains("/projects/{ref}");
            assert!(
                !about_a_project || matches!(row.needs, Needs::OnProject(_)),
                "{row:?}"
            );
            // Whoever may not see secrets by asking must not be able to by destroying.
            let deletes =
                row.method == "DELETE" && row.needs == Needs::OnProject(Capability::Admin);
            assert!(!deletes || row.is_sensitive, "{row:?}");
        }
    }

    #[test]
    fn a_head_is_a_get_and_what_is_not_listed_is_closed() {
        assert!(find(&Method::HEAD, "/v1/profile").is_some());
        for (method, route) in [
            (Method::POST, "/v1/profile"),
            (Method::GET, "/v1/projects/{ref}/nonsense"),
            (Method::GET, ""),
        ] {
            assert!(find(&method, route).is_none(), "{method} {route}");
        }
    }
}
