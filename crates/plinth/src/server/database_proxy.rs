//! Maps user and database of a proxied connection to a project's login (console contract F50).

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use plinth_platform::{IsolatedServer, Platform, PlatformError, References, owner_sql};
use plinth_postgres::{
    ConnectionLimit, ErrorResponse, OtherServer, OtherServerFuture, Route, Routed, Sqlstate,
};
use plinth_project::{LoginKind, ProjectRef};

/// `postgres` is the default project's owner, `postgres.<ref>` that project's. Other users are
/// rejected: the other logins are Plinth's own, and the superuser among them has every project.
/// Statements that change a role of all projects are rewritten to change this one alone.
/// Connections to isolated projects go to their servers, which are started for them.
pub(super) struct ProxyRouter {
    platform: Platform,
    /// One for each isolated server.
    limits: Mutex<HashMap<ProjectRef, ConnectionLimit>>,
}

impl ProxyRouter {
    pub(super) fn new(platform: &Platform) -> Self {
        Self {
            platform: platform.clone(),
            limits: Mutex::default(),
        }
    }

    async fn isolated_server(&self, routed: &Routed) -> Result<Option<OtherServer>, PlatformError> {
        // The default project and project zero are never isolated.
        let Ok(reference) = routed.database.parse::<ProjectRef>() else {
            return Ok(None);
        };
        let Some(server) = self.platform.isolated_server_of(&reference).await? else {
            return Ok(None);
        };
        let limit = self.limit(&server);
        Ok(Some(OtherServer {
            socket: server.running.socket,
            limit,
            lease: Box::new(server.running.lease),
        }))
    }

    fn limit(&self, server: &IsolatedServer) -> ConnectionLimit {
        let limits = self.limits.lock();
        let mut limits = limits.unwrap_or_else(PoisonError::into_inner);
        let limit = limits
            .entry(server.name.clone())
            .or_insert_with(|| ConnectionLimit::new(server.tool_connections));
        limit.clone()
    }
}

impl Route for ProxyRouter {
    fn route(&self, user: &str, database: &str) -> Result<Routed, ErrorResponse> {
        route(self.platform.references(), user, database)
    }

    fn server<'a>(&'a self, routed: &'a Routed) -> OtherServerFuture<'a> {
        Box::pin(async {
            let found = self.isolated_server(routed).await;
            found.map_err(|error| {
                tracing::warn!(
                    database = routed.database,
                    "cannot reach a database: {error}"
                );
                ErrorResponse::new(
                    Sqlstate::CannotConnectNow,
                    "the database cannot be started, try again later",
                )
            })
        })
    }

    fn other_sockets(&self) -> Vec<PathBuf> {
        self.platform.isolated_sockets()
    }

    fn rewrite(&self, sql: &str) -> Option<String> {
        owner_sql::rewrite(sql)
    }
}

fn route(references: &References, user: &str, database: &str) -> Result<Routed, ErrorResponse> {
    let Some(reference) = project(references, user) else {
        let message = format!(
            "user \"{user}\" cannot log in here: connect as \"postgres\", or as \
             \"postgres.<ref>\" to the project with that ref"
        );
        return Err(ErrorResponse::new(Sqlstate::InvalidAuthorization, message));
    };
    let is_default = reference == references.default;
    let own = if is_default {
        "postgres"
    } else {
        reference.as_str()
    };
    // Tools connect to the database that the hosted service calls so, or name none.
    if ![own, "postgres", user].contains(&database) {
        let message = format!("database \"{database}\" does not exist");
        return Err(ErrorResponse::new(Sqlstate::InvalidCatalogName, message));
    }
    Ok(Routed {
        user: LoginKind::Owner.role_name(&reference),
        database: own.to_owned(),
    })
}

/// The project whose owner this is.
fn project(references: &References, user: &str) -> Option<ProjectRef> {
    if user == "postgres" {
        return Some(references.default.clone());
    }
    match user.strip_prefix("postgres.")? {
        "default" => Some(references.default.clone()),
        "platform" => Some(references.platform.clone()),
        text => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(user: &str, database: &str) -> Result<(String, String), &'static str> {
        let parse = |text: &str| text.parse::<ProjectRef>().expect("a ref");
        let references = References {
            platform: parse("pppppppppppppppppppp"),
            default: parse("dddddddddddddddddddd"),
        };
        let routed = super::route(&references, user, database);
        routed
            .map(|routed| (routed.user, routed.database))
            .map_err(|error| error.sqlstate.code())
    }

    #[test]
    fn users_are_mapped_to_owners_of_projects() {
        let check = |user, database, expected: (&str, &str)| {
            let expected = (expected.0.to_owned(), expected.1.to_owned());
            assert_eq!(route(user, database), Ok(expected), "{user} {database}");
        };
        let default = ("owner_dddddddddddddddddddd", "postgres");
        let other = ("owner_aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa");

        check("postgres", "postgres", default);
        check("postgres.default", "postgres", default);
        check("postgres.default", "postgres.default", default);
        check("postgres.dddddddddddddddddddd", "postgres", default);
        check("postgres.aaaaaaaaaaaaaaaaaaaa", "postgres", other);
        check(
            "postgres.aaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaa",
            other,
        );
        check(
            "postgres.platform",
            "postgres",
            ("owner_pppppppppppppppppppp", "pppppppppppppppppppp"),
        );
    }

    #[test]
    fn others_are_rejected() {
        for user in [
            "supabase_admin",
            "plinth",
            "authenticator",
            "owner_dddddddddddddddddddd",
            "service_dddddddddddddddddddd",
            "postgres.nonsense",
            "postgres.",
            "Postgres",
            "",
        ] {
            assert_eq!(route(user, "postgres"), Err("28000"), "{user}");
        }
    }

    #[test]
    fn a_project_has_one_database() {
        for database in ["template1", "aaaaaaaaaaaaaaaaaaaa", "plinth_template"] {
            assert_eq!(route("postgres", database), Err("3D000"), "{database}");
        }
        let user = "postgres.aaaaaaaaaaaaaaaaaaaa";
        assert_eq!(route(user, "dddddddddddddddddddd"), Err("3D000"));
    }
}
