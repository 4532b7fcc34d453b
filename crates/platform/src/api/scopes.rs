//! The scope that a call requires (console contract F11).
//!
//! Calls of the Management API require what the official CLI documents; our own calls use the scope
//! of the most similar one. A route that is not listed here requires an unrestricted token.

use axum::http::Method;

use crate::tokens::{CREATE_TOKENS, READ_SECRETS};

/// What a call requires of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredScope {
    /// Any valid token.
    Nothing,
    /// One of these scopes.
    OneOf(&'static [&'static str]),
    /// This scope, with access to all projects.
    OnAllProjects(&'static str),
    /// A token without limits.
    Unrestricted,
}

/// What a call requires, by its method and the pattern of its route.
pub(super) fn required_scope(method: &Method, route: &str) -> RequiredScope {
    use RequiredScope::{Nothing, OnAllProjects, OneOf};

    let (project, rest) = match route.split_once("/projects/{ref}") {
        Some(("/v1" | "/platform", rest)) => (true, rest),
        _ => (false, route),
    };
    let (reads, writes) = match (project, rest) {
        (false, "/v1/profile") => (Nothing, Nothing),
        (false, "/v1/organizations") => (
            OneOf(&["organizations_read"]),
            OnAllProjects("organizations_create"),
        ),
        (false, "/v1/organizations/{slug}" | "/v1/organizations/{slug}/entitlements") => (
            OneOf(&["organization_admin_read"]),
            OnAllProjects("organization_admin_write"),
        ),
        (false, "/v1/organizations/{slug}/members") => {
            (OneOf(&["members_read"]), OnAllProjects("members_write"))
        }
        (false, "/v1/projects" | "/platform/projects") => (
            OneOf(&["projects_read"]),
            OnAllProjects("organization_projects_create"),
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
        // A read, although by POST.
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
        (false, "/v1/branches/{id}") if *method == Method::PATCH => {
            let writes = OneOf(&["branching_development_write", "branching_production_write"]);
            (writes, writes)
        }
        (false, "/v1/branches/{id}") => (
            OneOf(&["branching_development_read", "branching_production_read"]),
            OneOf(&[
                "branching_development_delete",
                "branching_production_delete",
            ]),
        ),
        (true, "/branches/{name}/review") => {
            let reads = OneOf(&["branching_development_read", "branching_production_read"]);
            (reads, reads)
        }
        // A merge changes the parent, a rebase the branch.
        (true, "/branches/{name}/merge") | (false, "/v1/branches/{id}/merge") => {
            let writes = OneOf(&["branching_production_write"]);
            (writes, writes)
        }
        (true, "/branches/{name}/rebase")
        | (false, "/v1/branches/{id}/push" | "/v1/branches/{id}/reset") => {
            let writes = OneOf(&["branching_development_write", "branching_production_write"]);
            (writes, writes)
        }
        (false, "/v1/branches/{id}/diff") => {
            let reads = OneOf(&["branching_development_read", "branching_production_read"]);
            (reads, reads)
        }
        (
            true,
            "/advisors"
            | "/advisors/security"
            | "/advisors/performance"
            | "/advisors/history"
            | "/advisors/ignores"
            | "/advisors/ignores/{id}",
        ) => (OneOf(&["advisors_read"]), OneOf(&["project_admin_write"])),
        (true, "/config/database/pooler") => (
            OneOf(&["database_pooling_config_read"]),
            RequiredScope::Unrestricted,
        ),
        (true, "/database/migrations" | "/migrations") => (
            OneOf(&["database_migrations_read"]),
            OneOf(&["database_migrations_write"]),
        ),
        // The connection string contains the owner's password.
        (true, "/database" | "/database/password" | "/database/reset" | "/seed") => {
            let writes = OneOf(&["database_write"]);
            (writes, writes)
        }
        (true, "/storage/credentials" | "/storage/credentials/{id}" | "/storage/check") => (
            OneOf(&["storage_config_read"]),
            OneOf(&["storage_config_write"]),
        ),
        (true, "/logs" | "/logs/tail") => {
            (OneOf(&["analytics_logs_read"]), RequiredScope::Unrestricted)
        }
        // Mails contain sign-in links, and the secret key is accepted as well.
        (true, "/mailbox" | "/mailbox/{id}") => {
            (OneOf(&[READ_SECRETS]), OneOf(&["auth_config_write"]))
        }
        // Each secret in it has a scope of its own.
        (false, "/platform/status") => {
            (OneOf(&["project_admin_read"]), RequiredScope::Unrestricted)
        }
        (false, "/platform/doctor") => (
            OnAllProjects("project_admin_read"),
            RequiredScope::Unrestricted,
        ),
        (false, "/platform/jobs" | "/platform/jobs/{id}") => {
            (OneOf(&["project_admin_read"]), RequiredScope::Unrestricted)
        }
        // A token may list and revoke itself and those that it created.
        (false, "/platform/tokens") => (Nothing, OneOf(&[CREATE_TOKENS])),
        (false, "/platform/tokens/{id}") => (Nothing, Nothing),
        _ => (RequiredScope::Unrestricted, RequiredScope::Unrestricted),
    };
    if *method == Method::GET || *method == Method::HEAD {
        reads
    } else {
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The routes in the source of `mod.rs`.
    fn routes() -> impl Iterator<Item = String> {
        let source = include_str!("mod.rs");
        let management = source.find("fn management_routes").expect("a function");
        let own = source.find("fn platform_routes").expect("a function");
        let paths = |source: &'static str, prefix: &'static str| {
            let strings = source.split('"').skip(1).step_by(2);
            strings
                .filter(|text| text.starts_with('/'))
                .map(move |path| format!("{prefix}{path}"))
        };
        paths(&source[management..own], "/v1").chain(paths(&source[own..], "/platform"))
    }

    #[test]
    fn every_route_has_a_scope() {
        assert!(routes().count() > 40);
        for route in routes() {
            let all = [Method::GET, Method::POST].map(|method| required_scope(&method, &route));
            let is_named = all
                .iter()
                .any(|needs| *needs != RequiredScope::Unrestricted);
            // No token may sign tokens of users.
            assert!(is_named || route.ends_with("/bearer-jwt"), "{route}");
        }
    }

    #[test]
    fn an_unlisted_route_requires_an_unrestricted_token() {
        for route in [
            "/v1/nonsense",
            "/v1/projects/{ref}/nonsense",
            "/projects/{ref}",
            "",
        ] {
            assert_eq!(
                required_scope(&Method::GET, route),
                RequiredScope::Unrestricted,
                "{route}"
            );
        }
        assert_eq!(
            required_scope(&Method::DELETE, "/v1/projects/{ref}/functions/{slug}"),
            RequiredScope::OneOf(&["edge_functions_write"])
        );
    }
}
