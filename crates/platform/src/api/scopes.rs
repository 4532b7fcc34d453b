//! Which scope a call needs (console contract F11).
//!
//! Calls of the Management API need what the official CLI says they do; our own take the scope of
//! their nearest relative. A call that is not named here is for tokens without limits.

use axum::http::Method;

use crate::tokens::{MAKES_TOKENS, SECRETS};

/// What a token needs for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Any token that is valid.
    Nothing,
    /// One of these scopes.
    OneOf(&'static [&'static str]),
    /// This scope, and every project within reach.
    Everywhere(&'static str),
    /// No limits at all.
    NoLimits,
}

/// What a call needs, by its method and the pattern of its route.
pub(super) fn needed(method: &Method, route: &str) -> Needs {
    use Needs::{Everywhere, Nothing, OneOf};

    let (project, rest) = match route.split_once("/projects/{ref}") {
        Some(("/v1" | "/platform", rest)) => (true, rest),
        _ => (false, route),
    };
    let (reads, writes) = match (project, rest) {
        (false, "/v1/profile") => (Nothing, Nothing),
        (false, "/v1/organizations") => (
            OneOf(&["organizations_read"]),
            Everywhere("organizations_create"),
        ),
        (false, "/v1/organizations/{slug}" | "/v1/organizations/{slug}/entitlements") => (
            OneOf(&["organization_admin_read"]),
            Everywhere("organization_admin_write"),
        ),
        (false, "/v1/organizations/{slug}/members") => {
            (OneOf(&["members_read"]), Everywhere("members_write"))
        }
        (false, "/v1/projects" | "/platform/projects") => (
            OneOf(&["projects_read"]),
            Everywhere("organization_projects_create"),
        ),
        (true, "") => (
            OneOf(&["project_admin_read", "projects_read"]),
            OneOf(&["project_admin_write"]),
        ),
        (true, "/pause" | "/restore" | "/health") => (
            OneOf(&["project_admin_read"]),
            OneOf(&["project_admin_write"]),
        ),
        (true, "/billing/addons") => (
            OneOf(&["infra_add_ons_read"]),
            OneOf(&["infra_add_ons_write"]),
        ),
        // A question, although by POST.
        (true, "/network-bans/retrieve") => {
            let reads = OneOf(&["database_network_bans_read"]);
            (reads, reads)
        }
        (true, "/api-keys" | "/api-keys/legacy" | "/api-keys/{id}" | "/keys/rotate") => (
            OneOf(&["api_gateway_keys_read"]),
            OneOf(&["api_gateway_keys_write"]),
        ),
        (true, "/config/auth/signing-keys" | "/config/auth/signing-keys/{id}") => (
            OneOf(&["auth_signing_keys_read"]),
            OneOf(&["auth_signing_keys_write"]),
        ),
        (
            true,
            "/functions"
            | "/functions/{slug}"
            | "/functions/{slug}/body"
            | "/functions/{slug}/versions"
            | "/functions/{slug}/rollback",
        ) => (
            OneOf(&["edge_functions_read"]),
            OneOf(&["edge_functions_write"]),
        ),
        (true, "/secrets") => (
            OneOf(&["edge_functions_secrets_read"]),
            OneOf(&["edge_functions_secrets_write"]),
        ),
        (true, "/branches" | "/branches/{name}") => (
            OneOf(&["branching_development_read", "branching_production_read"]),
            OneOf(&[
                "branching_development_create",
                "branching_production_create",
            ]),
        ),
        (false, "/v1/branches/{id}") => (
            OneOf(&["branching_development_read", "branching_production_read"]),
            OneOf(&[
                "branching_development_delete",
                "branching_production_delete",
            ]),
        ),
        (true, "/database/migrations" | "/migrations") => (
            OneOf(&["database_migrations_read"]),
            OneOf(&["database_migrations_write"]),
        ),
        // The connection string holds the owner's password.
        (true, "/database" | "/database/reset" | "/seed") => {
            let writes = OneOf(&["database_write"]);
            (writes, writes)
        }
        (true, "/storage/credentials" | "/storage/credentials/{id}" | "/storage/check") => (
            OneOf(&["storage_config_read"]),
            OneOf(&["storage_config_write"]),
        ),
        (true, "/logs" | "/logs/tail") => (OneOf(&["analytics_logs_read"]), Needs::NoLimits),
        // Its mails hold what signs people in, and it takes the secret key as well.
        (true, "/mailbox" | "/mailbox/{id}") => (OneOf(&[SECRETS]), OneOf(&["auth_config_write"])),
        // Each secret in it has a scope of its own.
        (false, "/platform/status") => (OneOf(&["project_admin_read"]), Needs::NoLimits),
        (false, "/platform/doctor") => (Everywhere("project_admin_read"), Needs::NoLimits),
        (false, "/platform/jobs" | "/platform/jobs/{id}") => {
            (OneOf(&["project_admin_read"]), Needs::NoLimits)
        }
        // Of tokens, a token sees and ends itself and those that it has made.
        (false, "/platform/tokens") => (Nothing, OneOf(&[MAKES_TOKENS])),
        (false, "/platform/tokens/{id}") => (Nothing, Nothing),
        _ => (Needs::NoLimits, Needs::NoLimits),
    };
    match *method == Method::GET || *method == Method::HEAD {
        true => reads,
        false => writes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the routes are written.
    fn routes() -> impl Iterator<Item = String> {
        let source = include_str!("mod.rs");
        let management = source.find("fn management").expect("a function");
        let own = source.find("fn own").expect("a function");
        let paths = |source: &'static str, prefix: &'static str| {
            let strings = source.split('"').skip(1).step_by(2);
            strings
                .filter(|text| text.starts_with('/'))
                .map(move |path| format!("{prefix}{path}"))
        };
        paths(&source[management..own], "/v1").chain(paths(&source[own..], "/platform"))
    }

    #[test]
    fn every_route_is_within_reach_of_some_scope() {
        assert!(routes().count() > 40);
        for route in routes() {
            let all = [Method::GET, Method::POST].map(|method| needed(&method, &route));
            let is_named = all.iter().any(|needs| *needs != Needs::NoLimits);
            // No token signs as somebody.
            assert!(is_named || route.ends_with("/bearer-jwt"), "{route}");
        }
    }

    #[test]
    fn a_route_that_nobody_named_is_for_tokens_without_limits() {
        for route in [
            "/v1/nonsense",
            "/v1/projects/{ref}/nonsense",
            "/projects/{ref}",
            "",
        ] {
            assert_eq!(needed(&Method::GET, route), Needs::NoLimits, "{route}");
        }
        assert_eq!(
            needed(&Method::DELETE, "/v1/projects/{ref}/functions/{slug}"),
            Needs::OneOf(&["edge_functions_write"])
        );
    }
}
