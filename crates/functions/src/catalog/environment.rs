//! The variables of a function (functions contract §7).

use std::collections::BTreeMap;

use plinth_project::{FunctionSurroundings, Project};
use plinth_settings::Secret as ConfiguredSecret;
use plinth_token::Secret;
use serde_json::{Map, Value};

use super::{Function, folder::may_be_set};
use crate::config::FunctionsConfig;

/// What all functions of a project are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) told: FunctionSurroundings,
    pub(crate) jwks: String,
    /// Those that operators keep.
    pub(crate) secrets: BTreeMap<String, String>,
}

/// Everything that a worker of the function finds in its environment.
pub(crate) fn environment(
    project: &Project,
    function: &Function,
    surroundings: &Surroundings,
    config: &FunctionsConfig,
    execution_id: &str,
) -> BTreeMap<String, String> {
    let kept = surroundings
        .secrets
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    let exposed =
        |(name, value): (&String, &ConfiguredSecret)| (name.clone(), value.expose().to_owned());
    let configured = config.secrets.iter().map(exposed);
    let own = function.variables.iter().cloned();
    let mut variables: BTreeMap<_, _> = kept
        .chain(configured)
        .filter(|(name, _)| may_be_set(name))
        .chain(own)
        .collect();

    let told = &surroundings.told;
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
        ("SUPABASE_URL", told.api_url.clone()),
        ("SUPABASE_ANON_KEY", told.anon_key.expose().to_owned()),
        (
            "SUPABASE_SERVICE_ROLE_KEY",
            told.service_role_key.expose().to_owned(),
        ),
        ("SUPABASE_DB_URL", told.database_url.expose().to_owned()),
        ("SUPABASE_PUBLISHABLE_KEYS", by_name(&told.publishable_keys)),
        ("SUPABASE_SECRET_KEYS", by_name(&told.secret_keys)),
        ("SUPABASE_PUBLISHABLE_KEY", first(&told.publishable_keys)),
        ("SUPABASE_SECRET_KEY", first(&told.secret_keys)),
        ("SUPABASE_JWKS", surroundings.jwks.clone()),
        ("SUPABASE_FUNCTION_SLUG", function.slug.clone()),
        ("SB_REGION", config.region.clone()),
        ("SB_EXECUTION_ID", execution_id.to_owned()),
        ("DENO_DEPLOYMENT_ID", deployment),
    ];
    variables.extend(given.map(|(name, value)| (name.to_owned(), value)));
    // Whoever checks tokens expects who they say has made them, and may have said so already.
    let issuer = variables.entry("SB_JWT_ISSUER".to_owned());
    issuer.or_insert_with(|| match &config.issuer {
        Some(issuer) => issuer.clone(),
        None => format!("{}/auth/v1", told.public_url),
    });
    variables
}

fn by_name(keys: &BTreeMap<String, Secret>) -> String {
    let pairs = keys
        .iter()
        .map(|(name, key)| (name.clone(), Value::from(key.expose())));
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

impl Surroundings {
    pub(crate) fn new(
        project: &Project,
        told: FunctionSurroundings,
        secrets: BTreeMap<String, String>,
    ) -> Self {
        Self {
            told,
            jwks: project.keys().keyset.jwks().to_string(),
            secrets,
        }
    }
}
