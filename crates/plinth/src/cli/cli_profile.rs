//! `plinth cli-profile`: a profile of the official CLI for this Plinth (console contract §2.5.1). It
//! is YAML; strings are written as JSON, which is valid YAML.

use serde_json::json;

use super::{
    Client, Global,
    output::print,
    projects::{resolve, text},
};
use crate::failure::Outcome;

pub(super) async fn run(global: &Global) -> Outcome {
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    let api_url = match &global.api_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => {
            let status = client.get("/platform/status?project=default").await?;
            text(&status, "API_URL")
        }
    };
    print(&profile(&api_url))?;
    eprintln!(
        "Save it, create a token with `plinth tokens create NAME`, and then:\n  \
         export SUPABASE_ACCESS_TOKEN=sbp_…\n  \
         supabase --profile ./plinth.yaml functions deploy --use-api --remote={reference}"
    );
    Ok(())
}

/// `project_host` has no port: commands that use it connect to `https://<ref>.<host>`.
fn profile(api_url: &str) -> String {
    let url = url::Url::parse(api_url).ok();
    let host = url.as_ref().and_then(url::Url::host_str);
    let host = host.unwrap_or("localhost");
    let lines = [
        ("name", "plinth"),
        ("api_url", api_url),
        ("dashboard_url", api_url),
        ("project_host", host),
    ];
    lines
        .map(|(name, value)| format!("{name}: {}\n", json!(value)))
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_the_api_and_a_host_without_a_port() {
        assert_eq!(
            profile("http://127.0.0.1:54321"),
            "name: \"plinth\"\napi_url: \"http://127.0.0.1:54321\"\n\
             dashboard_url: \"http://127.0.0.1:54321\"\nproject_host: \"127.0.0.1\"\n"
        );
    }
}
