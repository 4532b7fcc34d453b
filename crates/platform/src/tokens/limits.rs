//! What a token may do (console contract F11).

use plinth_project::ProjectRef;

use crate::PlatformError;

/// Scope for reading secret API keys.
pub(crate) const READ_SECRETS: &str = "api_gateway_keys_secret_read";
/// Scope for creating tokens. An addition: the hosted service does that in its web app only.
pub(crate) const CREATE_TOKENS: &str = "access_tokens_write";

/// The scopes in the official CLI's help, and [`CREATE_TOKENS`]. Some belong to calls that Plinth
/// does not have.
const SCOPES: &[&str] = &[
    "access_tokens_write",
    "action_runs_read",
    "action_runs_write",
    "advisors_read",
    "analytics_config_read",
    "analytics_config_write",
    "analytics_logs_read",
    "analytics_usage_read",
    "api_gateway_keys_read",
    "api_gateway_keys_secret_read",
    "api_gateway_keys_write",
    "auth_config_read",
    "auth_config_write",
    "auth_signing_keys_read",
    "auth_signing_keys_write",
    "backups_read",
    "backups_write",
    "branching_development_create",
    "branching_development_delete",
    "branching_development_read",
    "branching_development_write",
    "branching_production_create",
    "branching_production_delete",
    "branching_production_read",
    "branching_production_write",
    "custom_domain_read",
    "custom_domain_write",
    "data_api_config_read",
    "data_api_config_secret_read",
    "data_api_config_write",
    "database_config_read",
    "database_config_write",
    "database_jit_read",
    "database_jit_write",
    "database_migrations_read",
    "database_migrations_write",
    "database_network_bans_read",
    "database_network_bans_write",
    "database_network_restrictions_read",
    "database_network_restrictions_write",
    "database_pooling_config_read",
    "database_pooling_config_write",
    "database_read",
    "database_readonly_config_read",
    "database_readonly_config_write",
    "database_ssl_config_read",
    "database_ssl_config_write",
    "database_webhooks_config_write",
    "database_write",
    "edge_functions_read",
    "edge_functions_secrets_read",
    "edge_functions_secrets_write",
    "edge_functions_write",
    "infra_add_ons_read",
    "infra_add_ons_write",
    "infra_disk_config_read",
    "infra_disk_config_write",
    "infra_read_replicas_write",
    "members_read",
    "members_write",
    "organization_admin_read",
    "organization_admin_write",
    "organization_projects_create",
    "organization_projects_read",
    "organizations_create",
    "organizations_read",
    "project_admin_read",
    "project_admin_write",
    "project_notebooks_read",
    "project_notebooks_write",
    "projects_read",
    "realtime_config_read",
    "realtime_config_write",
    "snippets_read",
    "storage_config_read",
    "storage_config_write",
    "storage_read",
    "vanity_subdomain_read",
    "vanity_subdomain_write",
    "workers_read",
    "workers_write",
];

/// Scopes or projects per token.
pub(crate) const MAX_LIMIT_ENTRIES: usize = 100;

/// Limits of a token; an absent one does not limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenLimits {
    /// Allowed scopes.
    pub scopes: Option<Vec<String>>,
    /// Allowed projects, their branches included.
    pub projects: Option<Vec<ProjectRef>>,
    /// Whether it may only read, secrets excluded.
    pub read_only: bool,
}

impl TokenLimits {
    /// Whether the token has this scope.
    pub(crate) fn allow(&self, scope: &str) -> bool {
        let has = match &self.scopes {
            Some(scopes) => scopes.iter().any(|own| own == scope),
            // An unrestricted token cannot create tokens (F10).
            None => scope != CREATE_TOKENS,
        };
        has && (!self.read_only || is_read_scope(scope))
    }

    /// Rejects empty lists, long lists and unknown scopes.
    pub(crate) fn check(&self) -> Result<(), PlatformError> {
        let lists = [
            ("scopes", self.scopes.as_ref().map(Vec::len)),
            ("projects", self.projects.as_ref().map(Vec::len)),
        ];
        if let Some((name, _)) = lists
            .iter()
            .find(|(_, count)| *count > Some(MAX_LIMIT_ENTRIES))
        {
            return Err(PlatformError::Invalid(format!(
                "A token has at most {MAX_LIMIT_ENTRIES} {name}; leave {name} out for all of them"
            )));
        }
        if let Some((name, _)) = lists.iter().find(|(_, count)| *count == Some(0)) {
            return Err(PlatformError::Invalid(format!(
                "A token with no {name} could do nothing; leave {name} out for all of them"
            )));
        }
        let scopes = self.scopes.iter().flatten();
        for scope in scopes {
            if !SCOPES.contains(&scope.as_str()) {
                return Err(PlatformError::Invalid(unknown_scope(scope)));
            }
            if self.read_only && !is_read_scope(scope) {
                return Err(PlatformError::Invalid(format!(
                    "A read-only token cannot have the scope {scope}"
                )));
            }
        }
        Ok(())
    }

    /// Whether these limits allow all scopes that the others allow. Projects are compared elsewhere.
    pub(super) fn include(&self, others: &Self) -> bool {
        let scopes = match (&self.scopes, &others.scopes) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(others)) => others.iter().all(|scope| own.contains(scope)),
        };
        scopes && (others.read_only || !self.read_only)
    }
}

fn is_read_scope(scope: &str) -> bool {
    scope.ends_with("_read") && !scope.ends_with("_secret_read")
}

fn unknown_scope(scope: &str) -> String {
    let subject = scope.split('_').next().unwrap_or_default();
    let near: Vec<&str> = SCOPES
        .iter()
        .filter(|known| !subject.is_empty() && known.contains(subject))
        .copied()
        .collect();
    let known = if near.is_empty() {
        SCOPES.join(", ")
    } else {
        near.join(", ")
    };
    format!("There is no scope {scope:?}; there are: {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoped(scopes: &[&str]) -> TokenLimits {
        TokenLimits {
            scopes: Some(scopes.iter().map(|&scope| scope.to_owned()).collect()),
            ..TokenLimits::default()
        }
    }

    fn read_only(limits: TokenLimits) -> TokenLimits {
        TokenLimits {
            read_only: true,
            ..limits
        }
    }

    #[test]
    fn a_token_does_what_its_scopes_say() {
        let whole = TokenLimits::default();
        assert!(whole.allow("edge_functions_write") && whole.allow(READ_SECRETS));
        assert!(!whole.allow(CREATE_TOKENS));

        let deploys = scoped(&["edge_functions_write"]);
        assert!(deploys.allow("edge_functions_write"));
        assert!(!deploys.allow("edge_functions_read") && !deploys.allow(READ_SECRETS));
        assert!(scoped(&[CREATE_TOKENS]).allow(CREATE_TOKENS));
    }

    #[test]
    fn a_read_only_token_reads_no_secrets() {
        let reads = read_only(TokenLimits::default());
        assert!(reads.allow("edge_functions_read") && reads.allow("edge_functions_secrets_read"));
        for scope in ["edge_functions_write", "organizations_create", READ_SECRETS] {
            assert!(!reads.allow(scope), "{scope}");
        }
    }

    #[test]
    fn invalid_limits_are_rejected() {
        let message = |limits: TokenLimits| limits.check().expect_err("rejected").to_string();

        assert!(message(scoped(&[])).contains("leave scopes out"));
        let near = message(scoped(&["edge_function_write"]));
        assert!(near.contains("edge_functions_write") && !near.contains("projects_read"));
        assert!(message(scoped(&["nonsense"])).contains("projects_read"));
        assert!(message(scoped(&[""])).contains("projects_read"));
        assert!(message(read_only(scoped(&["database_write"]))).contains("read-only"));
        scoped(&["projects_read"]).check().expect("good");
    }

    #[test]
    fn limits_include_smaller_ones_only() {
        let own = scoped(&[CREATE_TOKENS, "projects_read"]);
        for less in [
            scoped(&["projects_read"]),
            read_only(scoped(&["projects_read"])),
        ] {
            assert!(own.include(&less), "{less:?}");
        }
        for more in [
            TokenLimits::default(),
            scoped(&["projects_read", "database_write"]),
        ] {
            assert!(!own.include(&more), "{more:?}");
        }
        assert!(!read_only(own.clone()).include(&own));
    }
}
