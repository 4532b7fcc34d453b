//! `plinth keys`.

use serde_json::{Value, json};

use super::{
    Client, Format, Global,
    args::{KeyKind, KeysCommand},
    client::segment,
    output::{confirm, print, print_list, to_json},
    print_pairs,
    projects::{resolve, text},
};
use crate::failure::{Failure, Outcome};

const API_KEYS: &[(&str, &str)] = &[
    ("TYPE", "type"),
    ("NAME", "name"),
    ("KEY", "api_key"),
    ("ID", "id"),
    ("ENDS", "revoked_at"),
];
const SIGNING_KEYS: &[(&str, &str)] = &[
    ("ALGORITHM", "algorithm"),
    ("STATUS", "status"),
    ("ID", "id"),
    ("CREATED", "created_at"),
];

pub(super) async fn run(global: &Global, command: KeysCommand) -> Outcome {
    let client = Client::connect(global)?;
    let project = format!(
        "/v1/projects/{}",
        resolve(&client, &global.reference).await?
    );
    match command {
        KeysCommand::List { reveal } => list(&client, global, &project, reveal).await,
        KeysCommand::Create {
            kind,
            name,
            description,
        } => {
            let kind = match kind {
                KeyKind::Publishable => "publishable",
                KeyKind::Secret => "secret",
            };
            let body = json!({ "type": kind, "name": name, "description": description });
            let key = client.post(&format!("{project}/api-keys"), body).await?;
            show(global, &key)
        }
        KeysCommand::Revoke { key } => revoke(&client, global, &project, &key).await,
        KeysCommand::Rotate {
            signing,
            legacy,
            api,
            grace,
        } => rotate(&client, global, signing, legacy, api, &grace).await,
    }
}

async fn list(client: &Client, global: &Global, project: &str, reveal: bool) -> Outcome {
    let api = client
        .get(&format!("{project}/api-keys?reveal={reveal}"))
        .await?;
    let signing = client
        .get(&format!("{project}/config/auth/signing-keys"))
        .await?;
    if global.output == Format::Json {
        return print(&to_json(
            &json!({ "api_keys": api, "signing_keys": signing["keys"] }),
        )?);
    }
    print_list(global.output, &api, API_KEYS)?;
    print("\n")?;
    print_list(global.output, &signing["keys"], SIGNING_KEYS)
}

fn show(global: &Global, key: &Value) -> Outcome {
    let pairs = ["id", "type", "name", "api_key"].map(|name| (name.to_owned(), text(key, name)));
    print_pairs(global.output, &pairs)
}

async fn revoke(client: &Client, global: &Global, project: &str, key: &str) -> Outcome {
    let signing = client
        .get(&format!("{project}/config/auth/signing-keys"))
        .await?;
    let is_signing = signing["keys"]
        .as_array()
        .is_some_and(|keys| keys.iter().any(|k| k["id"] == key));
    let question = if is_signing {
        format!("Revoke signing key {key}? All users whose tokens it signed are signed out.")
    } else if is_last_publishable(client, project, key).await? {
        format!(
            "Revoke API key {key}? It is the last publishable key: applications and the account \
             pages stop working at once."
        )
    } else {
        format!("Revoke API key {key}? Requests with it fail at once.")
    };
    if !confirm(&question, global.yes)? {
        eprintln!("Nothing was revoked.");
        return Ok(());
    }
    let kind = if is_signing {
        "config/auth/signing-keys"
    } else {
        "api-keys"
    };
    let revoked = client
        .delete(&format!("{project}/{kind}/{}", segment(key)))
        .await?;
    eprintln!("Revoked {key}.");
    if let Some(warning) = revoked["warning"].as_str() {
        eprintln!("Warning: {warning}");
        eprintln!("    → plinth keys create publishable NAME");
    }
    Ok(())
}

/// Whether a key is the only one with which browsers and the account pages reach the project.
async fn is_last_publishable(client: &Client, project: &str, key: &str) -> Outcome<bool> {
    let keys = client.get(&format!("{project}/api-keys")).await?;
    let keys = keys.as_array().cloned().unwrap_or_default();
    let mut publishable = keys
        .iter()
        .filter(|known| known["type"] == "publishable" && known["revoked_at"].is_null());
    let (Some(only), None) = (publishable.next(), publishable.next()) else {
        return Ok(false);
    };
    let name = only["name"].as_str().unwrap_or_default();
    Ok(only["id"] == key || key == format!("publishable/{name}") || key == name)
}

async fn rotate(
    client: &Client,
    global: &Global,
    signing: bool,
    legacy: bool,
    api: Option<String>,
    grace: &str,
) -> Outcome {
    let path = format!(
        "/platform/projects/{}/keys/rotate",
        segment(&global.reference)
    );
    let (body, consequence) = match (signing, legacy, api) {
        (true, _, _) => (
            json!({ "what": "signing" }),
            "New tokens are signed with the next key. No user is signed out: tokens of the old key \
             stay valid until it is revoked."
                .to_owned(),
        ),
        (_, true, _) => (
            json!({ "what": "legacy" }),
            "Both legacy keys and every token signed with the shared secret stop working now."
                .to_owned(),
        ),
        (_, _, Some(key)) => {
            let grace = super::settings::parse_duration(grace)?;
            let seconds = grace.as_secs();
            let when = match seconds {
                0 => "now".to_owned(),
                seconds => format!("in {seconds} seconds"),
            };
            (
                json!({ "what": "api", "key": key, "grace_seconds": seconds }),
                format!("The old key {key} stops working {when}."),
            )
        }
        (false, false, None) => {
            return Err(Failure::usage(
                "say which key: --signing, --legacy or --api KEY",
            ));
        }
    };
    eprintln!("{consequence}");
    if !confirm("Rotate?", global.yes)? {
        eprintln!("Nothing was rotated.");
        return Ok(());
    }
    let response = client.post(&path, body).await?;
    match global.output {
        Format::Json => print(&to_json(&response)?),
        _ => {
            let object = response.as_object().cloned().unwrap_or_default();
            let pairs: Vec<(String, String)> = object
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
                .collect();
            print_pairs(global.output, &pairs)
        }
    }
}
