//! `plinth status`.

use serde_json::Value;

use super::{Client, Global, args::StatusArgs, client::segment, print_pairs};
use crate::failure::Outcome;

pub(super) async fn run(global: &Global, args: StatusArgs) -> Outcome {
    let client = Client::connect(global)?;
    let project = segment(&global.reference);
    let status = client
        .get(&format!("/platform/status?project={project}"))
        .await?;
    print_pairs(global.output, &renamed(&status, &args))
}

/// Applies `--override-name`, which accepts `API_URL`, `api.url` and `api_url`.
fn renamed(status: &Value, args: &StatusArgs) -> Vec<(String, String)> {
    let upper = |name: &str| name.replace('.', "_").to_ascii_uppercase();
    let official = |name: &str| upper(name.strip_prefix("auth.").unwrap_or(name));
    let mut object: Vec<_> = status
        .as_object()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .collect();
    // URLs first, secrets last.
    object.sort_by_key(|(name, _)| (!name.ends_with("_URL"), name.contains("SECRET")));
    object
        .into_iter()
        .map(|(name, value)| {
            let other = args
                .override_name
                .iter()
                .find(|a| official(&a.name) == name);
            let shown = other.map_or(name, |assignment| assignment.value.clone());
            (shown, value.as_str().unwrap_or_default().to_owned())
        })
        .collect()
}
