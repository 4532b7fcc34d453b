//! `plinth gen`.

use serde_json::json;

use super::{
    Client, Format, Global, args::GenCommand, client::segment, output::print, print_pairs,
    projects::text, settings::parse_duration,
};
use crate::failure::{Failure, Outcome};

pub(super) async fn run(global: &Global, command: GenCommand) -> Outcome {
    let GenCommand::BearerJwt {
        role,
        sub,
        valid_for,
        payload,
    } = command;
    let payload: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(payload.as_deref().unwrap_or("{}"))
            .map_err(|error| Failure::usage(format!("--payload is not a JSON object: {error}")))?;
    let body = json!({
        "role": role,
        "sub": sub,
        "valid_for_seconds": parse_duration(&valid_for)?.as_secs(),
        "payload": payload,
    });
    let path = format!(
        "/platform/projects/{}/bearer-jwt",
        segment(&global.reference)
    );
    let token = text(&Client::connect(global)?.post(&path, body).await?, "token");
    match global.output {
        Format::Pretty => print(&format!("{token}\n")),
        format => print_pairs(format, &[("TOKEN".to_owned(), token)]),
    }
}
