//! The development mailbox: where mails go while no mail server is configured.
//!
//! It is written here and read by the platform API (console contract §2.8).

use plinth_db::{DbError, Queries};

use super::message::Message;
use crate::request::Context;

const KEEP: &str = "select plinth.keep_mail($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// Looked up in the catalog, because naming what one may not see is an error that would end the
/// transaction.
const EXISTS: &str = "
    select exists (
        select
        from pg_catalog.pg_proc as f
        join pg_catalog.pg_namespace as n on n.oid = f.pronamespace
        where n.nspname = 'plinth'
          and f.proname = 'keep_mail'
          and pg_catalog.has_schema_privilege(n.oid, 'usage')
          and pg_catalog.has_function_privilege(f.oid, 'execute')
    )";

/// Keeps a mail, as part of the transaction that sends it.
pub(super) async fn keep(
    context: &Context,
    db: &mut impl Queries,
    message: &Message,
) -> Result<(), DbError> {
    if context.service.is_alone() && !exists(db).await? {
        tracing::warn!(
            template = message.kind.template(),
            "a mail was dropped: there is neither a mail server (SMTP_HOST) nor a mailbox"
        );
        return Ok(());
    }
    let sender = sender(context);
    let template = message.kind.template();
    // Postgres cannot hold it, and no reader shows it.
    let without_nul = |text: &str| text.replace('\0', "");
    db.execute(
        KEEP,
        &[
            &context.now,
            &sender,
            &message.to,
            &without_nul(&message.subject),
            &template,
            &without_nul(&message.html),
            &without_nul(&message.text),
            &message.links,
            &message.otp,
        ],
    )
    .await?;
    Ok(())
}

async fn exists(db: &mut impl Queries) -> Result<bool, DbError> {
    let row = db.query_opt(EXISTS, &[]).await?;
    row.map_or(Ok(false), |row| row.try_get(0))
}

/// Nobody answers there, as with mails that are really sent from such an address.
fn sender(context: &Context) -> String {
    let host = context.config.site_url.host_str().unwrap_or("localhost");
    format!("no-reply@{host}")
}
