//! The development mailbox: where mails go while no mail server is configured.

use plinth_db::{DbError, Queries};

use super::message::Message;
use crate::{
    model::mailbox::{self, StoredMail},
    request::RequestContext,
};

/// Stores a mail, as part of the transaction that sends it.
pub(super) async fn store(
    context: &RequestContext,
    db: &mut impl Queries,
    message: &Message,
) -> Result<(), DbError> {
    let template = message.kind.template();
    if context.service.is_standalone() && !mailbox::exists(db).await? {
        tracing::warn!(
            template,
            "dropping a mail: neither a mail server (SMTP_HOST) nor a mailbox is configured"
        );
        return Ok(());
    }
    let mail = StoredMail {
        sent_at: context.now,
        sender: &sender(context),
        recipient: &message.to,
        subject: &message.subject,
        template,
        html: &message.html,
        text: &message.text,
        links: &message.links,
        otp: message.otp.as_deref(),
    };
    mailbox::insert(db, &mail).await
}

fn sender(context: &RequestContext) -> String {
    let host = context.config.site_url.host_str().unwrap_or("localhost");
    format!("no-reply@{host}")
}
