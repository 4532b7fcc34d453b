//! `plinth admin`: what needs the control socket.

use serde_json::{Value, json};

use super::{Client, Global, args::AdminCommand, print_pairs, projects::text};
use crate::failure::Outcome;

pub(super) async fn run(global: &Global, command: AdminCommand) -> Outcome {
    let client = Client::connect(global)?;
    match command {
        AdminCommand::SetupLink => {
            let link = client.post("/platform/setup/link", Value::Null).await?;
            eprintln!("Open it within 30 minutes; it works once.");
            let pairs = ["url", "expires_at"].map(|name| (name.to_owned(), text(&link, name)));
            print_pairs(global.output, &pairs)
        }
        AdminCommand::MfaReset { email } => {
            let body = json!({ "email": email });
            let reset = client.post("/platform/operators/mfa-reset", body).await?;
            eprintln!(
                "Removed {} second factor(s) of {email} and ended all sessions; the next sign-in leads to \
                 the enrolment of a new one.",
                reset["removed"]
            );
            Ok(())
        }
    }
}
