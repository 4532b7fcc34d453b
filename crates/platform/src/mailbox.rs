//! A project's development mailbox: mails of its auth service while no mail server is configured.
//!
//! No role of the project may read the table, so it is read with the administrating role.

use plinth_project::Project;
use plinth_settings::keys;
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::PlatformError;

/// One mail. Not `Debug`: it contains one-time codes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    /// Its number; later mails have larger ones.
    pub(crate) id: i64,
    /// When it was sent.
    pub(crate) at: OffsetDateTime,
    /// The sender's address.
    pub(crate) from: String,
    /// The address it went to.
    pub(crate) to: String,
    /// One line.
    pub(crate) subject: String,
    /// Which of the auth service's mails it is.
    pub(crate) template: String,
    /// HTML body.
    pub(crate) html: String,
    /// Text body.
    pub(crate) text: String,
    /// URLs in it.
    pub(crate) links: Vec<String>,
    /// The one-time code in it.
    pub(crate) otp: Option<String>,
}

/// Filter of a list of mails.
#[derive(Debug, Clone, Default)]
pub(crate) struct MailQuery {
    /// Recipient.
    pub(crate) to: Option<String>,
    /// Sent at this time or later.
    pub(crate) since: Option<OffsetDateTime>,
    /// Ids below this one.
    pub(crate) before: Option<i64>,
    /// Maximum number of mails.
    pub(crate) limit: i64,
}

const LIST: &str = "
    select id, at, sender, recipient, subject, template, html, text, links, otp
    from plinth.mailbox
    where ($1::text is null or recipient = $1)
      and ($2::timestamptz is null or at >= $2)
      and ($3::bigint is null or id < $3)
    order by id desc
    limit $4";

const FIND: &str = "
    select id, at, sender, recipient, subject, template, html, text, links, otp
    from plinth.mailbox
    where id = $1";

/// Whether the project has no mail server, so that its mails are stored here.
pub(crate) fn is_enabled(project: &Project) -> bool {
    !project
        .settings()
        .current()
        .get(keys::auth_email::SMTP_ENABLED)
}

/// Newest first.
pub(crate) async fn list(project: &Project, query: &MailQuery) -> Result<Vec<Mail>, PlatformError> {
    let admin = project.db.as_admin().await?;
    let rows = admin
        .query(
            LIST,
            &[&query.to, &query.since, &query.before, &query.limit],
        )
        .await?;
    rows.iter().map(Mail::from_row).collect()
}

/// One mail, if it is still there.
pub(crate) async fn find(project: &Project, id: i64) -> Result<Option<Mail>, PlatformError> {
    let admin = project.db.as_admin().await?;
    let row = admin.query_opt(FIND, &[&id]).await?;
    row.as_ref().map(Mail::from_row).transpose()
}

/// Returns whether it existed.
pub(crate) async fn delete(project: &Project, id: i64) -> Result<bool, PlatformError> {
    let admin = project.db.as_admin().await?;
    let sql = "delete from plinth.mailbox where id = $1";
    Ok(admin.execute(sql, &[&id]).await? > 0)
}

/// Deletes all mails.
pub(crate) async fn clear(project: &Project) -> Result<(), PlatformError> {
    let admin = project.db.as_admin().await?;
    admin.execute("delete from plinth.mailbox", &[]).await?;
    Ok(())
}

impl Mail {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        Ok(Self {
            id: row.try_get("id")?,
            at: row.try_get("at")?,
            from: row.try_get("sender")?,
            to: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            template: row.try_get("template")?,
            html: row.try_get("html")?,
            text: row.try_get("text")?,
            links: row.try_get("links")?,
            otp: row.try_get("otp")?,
        })
    }
}
