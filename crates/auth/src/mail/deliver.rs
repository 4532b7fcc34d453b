//! Delivers a mail: checks, then the project's hook, its mail server, or the mailbox.

use plinth_db::Queries;
use serde_json::Value;

use super::{
    hook::{self, EmailData},
    kind::Kind,
    mailbox,
    message::{self, Message},
    recipient, smtp,
};
use crate::{
    AuthError, hooks,
    model::User,
    rate_limit::{Sending, check_sending},
    request::RequestContext,
};

/// One mail, or the two of a change of address.
pub(super) struct Outgoing<'a> {
    pub(super) kind: Kind,
    pub(super) user: &'a User,
    /// Recipients, each with the data of its template.
    pub(super) mails: Vec<(&'a str, Value)>,
    /// The new address of a change.
    pub(super) new_email: Option<&'a str>,
    pub(super) for_hook: EmailData<'a>,
}

pub(super) async fn deliver(
    context: &RequestContext,
    db: &mut impl Queries,
    outgoing: Outgoing<'_>,
) -> Result<(), AuthError> {
    for (to, _) in &outgoing.mails {
        recipient::check_authorized(&context.config.mail, to)?;
    }
    check_sending(context, Sending::Email)?;
    if context.config.hooks.send_email.is_some() {
        let Outgoing {
            user, new_email, ..
        } = outgoing;
        let payload = hook::payload(db, user, new_email, &outgoing.for_hook).await?;
        if hooks::send_email(context, db, payload).await? {
            return Ok(());
        }
    }
    for (to, data) in &outgoing.mails {
        recipient::check_reachable(&context.config.mail, to).await?;
        let message = message::compose(context, outgoing.kind, to, data).await;
        send_message(context, db, &message).await?;
    }
    Ok(())
}

async fn send_message(
    context: &RequestContext,
    db: &mut impl Queries,
    message: &Message,
) -> Result<(), AuthError> {
    let failure = message.kind.failure();
    match &context.config.mail.smtp {
        Some(server) => smtp::send(context, server, message).await,
        None => mailbox::store(context, db, message)
            .await
            .map_err(|error| AuthError::database(failure, error)),
    }
}
