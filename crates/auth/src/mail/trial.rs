//! A test mail of an operator (console contract N94).

use plinth_db::Queries;

use super::{
    kind::Kind,
    mailbox,
    message::Message,
    smtp_dialogue::{self, Dialogue},
};
use crate::{AuthError, config::SmtpConfig, request::RequestContext};

/// Sends a test mail through this server.
pub(crate) async fn send_through(
    context: &RequestContext,
    config: &SmtpConfig,
    to: &str,
) -> Dialogue {
    smtp_dialogue::hold(context, config, &message(context, to)).await
}

/// Puts a test mail into the development mailbox.
pub(crate) async fn store(
    context: &RequestContext,
    db: &mut impl Queries,
    to: &str,
) -> Result<(), AuthError> {
    let stored = mailbox::store(context, db, &message(context, to)).await;
    stored.map_err(|error| AuthError::database("The test mail was not stored", error))
}

fn message(context: &RequestContext, to: &str) -> Message {
    let site = context.config.site();
    let text = format!("This is a test mail of {site}. If you read it, the mail server works.");
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    Message {
        kind: Kind::Confirmation,
        to: to.to_owned(),
        subject: "Test mail".to_owned(),
        html: format!("<p>{escaped}</p>"),
        text,
        links: Vec::new(),
        otp: None,
    }
}
