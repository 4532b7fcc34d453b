//! `plinth tokens`.

use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Client, Global, args::TokensCommand, client::segment, output::print_list, print_pairs,
    projects::text, settings::parse_duration,
};
use crate::failure::{Failure, Outcome};

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("TOKEN", "prefix"),
    ("CREATED", "created_at"),
    ("EXPIRES", "expires_at"),
    ("LAST USED", "last_used_at"),
    ("SCOPES", "scopes"),
    ("PROJECTS", "projects"),
    ("READ ONLY", "read_only"),
    ("ID", "id"),
];

pub(super) async fn run(global: &Global, command: TokensCommand) -> Outcome {
    let client = Client::connect(global)?;
    match command {
        TokensCommand::List => print_list(
            global.output,
            &client.get("/platform/tokens").await?,
            COLUMNS,
        ),
        TokensCommand::Create {
            name,
            expires_in,
            scopes,
            projects,
            read_only,
        } => {
            let expires_at = match expires_in {
                Some(text) => {
                    let at =
                        OffsetDateTime::now_utc().checked_add(parse_duration(&text)?.try_into()?);
                    let at = at.ok_or_else(|| {
                        Failure::usage(format!("--expires-in {text} is out of range"))
                    })?;
                    Some(at.format(&Rfc3339)?)
                }
                None => None,
            };
            let non_empty = |list: Vec<String>| (!list.is_empty()).then_some(list);
            let body = json!({
                "name": name,
                "expires_at": expires_at,
                "scopes": non_empty(scopes),
                "projects": non_empty(projects),
                "read_only": read_only,
            });
            let token = client.post("/platform/tokens", body).await?;
            eprintln!("Store it now: it is shown only once.");
            let pairs = ["name", "token"].map(|name| (name.to_owned(), text(&token, name)));
            print_pairs(global.output, &pairs)
        }
        TokensCommand::Revoke { token } => {
            client
                .delete(&format!("/platform/tokens/{}", segment(&token)))
                .await?;
            eprintln!("Revoked {token}.");
            Ok(())
        }
    }
}
