//! The environment variables of a function (functions contract §7).

use std::collections::BTreeMap;

use plinth_project::{FunctionEnvironment, Project};
use plinth_settings::Secret as ConfiguredSecret;
use plinth_token::Secret;
use serde_json::{Map, Value};

use super::{Function, folder::is_permitted_name};
use crate::config::FunctionsConfig;

/// What the variables of all functions of a project are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectEnvironment {
    /// URLs and keys of the project.
    pub(crate) project: FunctionEnvironment,
    pub(crate) jwks: String,
    /// The stored secrets of the project.
    pub(crate) secrets: BTreeMap<String, Secret>,
}

/// All variables of a worker of the function.
pub(crate) fn variables(
    project: &Project,
    function: &Function,
    environment: &ProjectEnvironment,
    config: &FunctionsConfig,
    execution_id: &str,
) -> BTreeMap<String, String> {
    let stored = environment
        .secrets
        .iter()
        .map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let exposed =
        |(name, value): (&String, &ConfiguredSecret)| (name.clone(), value.expose().to_owned());
    let configured = config.secrets.iter().map(exposed);
    let own = function
        .variables
        .iter()
        .map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let mut variables: BTreeMap<_, _> = stored
        .chain(configured)
        .filter(|(name, _)| is_permitted_name(name))
        .chain(own)
        .collect();

    let known = &environment.project;
    let first = |keys: &BTreeMap<String, Secret>| {
        let first = keys.get("default").or_else(|| keys.values().next());
        first.map(|key| key.expose().to_owned()).unwrap_or_default()
    };
    let function_id = function
        .id()
        .map_or_else(|| function.slug.clone(), |id| id.to_string());
    let deployment = format!(
        "{}_{function_id}_{}",
        project.reference(),
        function.version()
    );
    let given = [
        ("SUPABASE_URL", known.api_url.clone()),
        ("SUPABASE_ANON_KEY", known.anon_key.expose().to_owned()),
        (
            "SUPABASE_SERVICE_ROLE_KEY",
            known.service_role_key.expose().to_owned(),
        ),
        ("SUPABASE_DB_URL", known.database_url.expose().to_owned()),
        (
            "SUPABASE_PUBLISHABLE_KEYS",
            by_name(&known.publishable_keys),
        ),
        ("SUPABASE_SECRET_KEYS", by_name(&known.secret_keys)),
        ("SUPABASE_PUBLISHABLE_KEY", first(&known.publishable_keys)),
        ("SUPABASE_SECRET_KEY", first(&known.secret_keys)),
        ("SUPABASE_JWKS", environment.jwks.clone()),
        ("SUPABASE_FUNCTION_SLUG", function.slug.clone()),
        ("SB_REGION", config.region.clone()),
        ("SB_EXECUTION_ID", execution_id.to_owned()),
        ("DENO_DEPLOYMENT_ID", deployment),
    ];
    variables.extend(given.map(|(name, value)| (name.to_owned(), value)));
    // The issuer that functions expect in tokens, unless a secret says another one.
    let issuer = variables.entry("SB_JWT_ISSUER".to_owned());
    issuer.or_insert_with(|| match &config.issuer {
        Some(issuer) => issuer.clone(),
        None => format!("{}/auth/v1", known.public_url),
    });
    variables
}

fn by_name(keys: &BTreeMap<String, Secret>) -> String {
    let pairs = keys
        .iter()
        .map(|(name, key)| (name.clone(), Value::from(key.expose())));
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

impl ProjectEnvironment {
    pub(crate) fn new(
        project: &Project,
        known: FunctionEnvironment,
        secrets: BTreeMap<String, String>,
    ) -> Self {
        Self {
            project: known,
            jwks: project.keys().keyset.jwks().to_string(),
            secrets: secrets
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_environment_shows_no_value_of_a_secret() {
        let secret = |text: &str| Secret::new(text);
        let environment = ProjectEnvironment {
            project: FunctionEnvironment {
                api_url: "http://localhost".to_owned(),
                public_url: "http://localhost".to_owned(),
                database_url: secret("sesame"),
                anon_key: secret("sesame"),
                service_role_key: secret("sesame"),
                publishable_keys: BTreeMap::new(),
                secret_keys: BTreeMap::from([("default".to_owned(), secret("sesame"))]),
            },
            jwks: "{}".to_owned(),
            secrets: BTreeMap::from([("WORD".to_owned(), secret("sesame"))]),
        };

        let printed = format!("{environment:?}");

        assert!(printed.contains(r#""WORD": ***"#), "{printed}");
        assert!(!printed.contains("sesame"), "{printed}");
    }
}
