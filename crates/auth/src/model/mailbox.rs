//! The development mailbox: `plinth.keep_mail`, read by the platform API (console contract §2.8).

use plinth_db::{DbError, Params, Queries};
use time::OffsetDateTime;

const INSERT: &str = "select plinth.keep_mail($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// Looked up in the catalog, because naming a function without the right to it is an error that
/// would end the transaction.
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

/// A mail as the mailbox stores it.
pub(crate) struct StoredMail<'a> {
    pub(crate) sent_at: OffsetDateTime,
    pub(crate) sender: &'a str,
    pub(crate) recipient: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) template: &'a str,
    pub(crate) html: &'a str,
    pub(crate) text: &'a str,
    pub(crate) links: &'a [String],
    pub(crate) otp: Option<&'a str>,
}

/// Stores a mail, as part of the transaction that sends it.
pub(crate) async fn insert(db: &mut impl Queries, mail: &StoredMail<'_>) -> Result<(), DbError> {
    // PostgreSQL cannot store NUL, and no reader shows it.
    let without_nul = |text: &str| text.replace('\0', "");
    let params: Params<'_> = &[
        &mail.sent_at,
        &mail.sender,
        &mail.recipient,
        &without_nul(mail.subject),
        &mail.template,
        &without_nul(mail.html),
        &without_nul(mail.text),
        &mail.links,
        &mail.otp,
    ];
    db.execute(INSERT, params).await?;
    Ok(())
}

/// Whether the database has a mailbox.
pub(crate) async fn exists(db: &mut impl Queries) -> Result<bool, DbError> {
    let row = db.query_opt(EXISTS, &[]).await?;
    row.map_or(Ok(false), |row| row.try_get(0))
}
