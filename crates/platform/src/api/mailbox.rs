//! `/platform/projects/{ref}/mailbox`: the mails that a project has sent to nobody (console
//! contract §2.8).
//!
//! The one place of the platform API that takes a project's own secret key (F10): whoever writes
//! an application has that key at hand, and needs the link that was just mailed.

use axum::{
    Json,
    extract::{FromRequestParts, RawPathParams},
    http::{StatusCode, header::AUTHORIZATION, request::Parts},
};
use plinth_project::{Credentials, Project};
use plinth_token::SERVICE_ROLE;
use serde::Deserialize;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    ControlSocket, Operator,
    body::{Params, Segments},
};
use crate::{
    Platform, PlatformError,
    mailbox::{self, Mail, MailQuery},
};

const USUAL_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;

/// A project whose mails the caller may read.
pub(super) struct Mailbox(Project);

impl FromRequestParts<Platform> for Mailbox {
    type Rejection = PlatformError;

    async fn from_request_parts(
        parts: &mut Parts,
        platform: &Platform,
    ) -> Result<Self, PlatformError> {
        let text = reference(parts, platform).await?;
        let project = match is_operator(parts) {
            true => {
                let operator = Operator::from_request_parts(parts, platform).await?;
                platform.open(&operator.named(platform, &text)?).await?
            }
            false => by_secret_key(parts, platform, &text).await?,
        };
        match mailbox::is_on(&project) {
            true => Ok(Self(project)),
            false => Err(PlatformError::MailboxOff),
        }
    }
}

async fn reference(parts: &mut Parts, platform: &Platform) -> Result<String, PlatformError> {
    let params = RawPathParams::from_request_parts(parts, platform).await;
    let params = params.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
    let mut params = params.iter();
    let found = params.find(|(name, _)| *name == "ref");
    Ok(found.map_or("", |(_, value)| value).to_owned())
}

/// Whether what is shown can only be an operator's.
fn is_operator(parts: &Parts) -> bool {
    let bearer = parts.headers.get(AUTHORIZATION);
    let bearer = bearer.and_then(|value| value.to_str().ok()).unwrap_or("");
    let token = bearer.split_once(' ').map_or("", |(_, token)| token.trim());
    parts.extensions.get::<ControlSocket>().is_some() || token.starts_with("sbp_")
}

/// A stranger learns nothing of which projects there are.
async fn by_secret_key(
    parts: &Parts,
    platform: &Platform,
    text: &str,
) -> Result<Project, PlatformError> {
    const REFUSED: PlatformError = PlatformError::Unauthorized(
        "A personal access token or the project's secret key is needed",
    );
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let name = text.parse().map_err(|_| REFUSED)?;
    let project = match platform.open(&name).await {
        Err(PlatformError::NotFound(_)) => return Err(REFUSED),
        project => project?,
    };
    let shown = Credentials::read(&project, &parts.headers, None, now);
    match shown.caller() {
        Ok(caller) if caller.role() == SERVICE_ROLE => Ok(project),
        _ => Err(REFUSED),
    }
}

#[derive(Deserialize)]
pub(super) struct MailParams {
    #[serde(default)]
    to: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<i64>,
}

impl MailParams {
    fn to_query(&self) -> Result<MailQuery, PlatformError> {
        let since = given(&self.since).map(|text| {
            plinth_db::parse_time(text).ok_or_else(|| {
                PlatformError::Invalid(format!(
                    "since: {text:?} is no time, as in 2026-01-31T12:00:00Z"
                ))
            })
        });
        let before = given(&self.cursor).map(|text| {
            text.parse()
                .map_err(|_| PlatformError::Invalid("This cursor is not one of ours".to_owned()))
        });
        Ok(MailQuery {
            // Addresses are stored so.
            to: given(&self.to).map(|to| to.trim().to_lowercase()),
            since: since.transpose()?,
            before: before.transpose()?,
            limit: self.limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT),
        })
    }
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// `GET …/mailbox`: newest first.
pub(super) async fn list(
    Mailbox(project): Mailbox,
    Params(params): Params<MailParams>,
) -> Result<Json<Value>, PlatformError> {
    let mut query = params.to_query()?;
    let page = usize::try_from(query.limit).unwrap_or_default();
    query.limit += 1;
    let mut mails = mailbox::list(&project, &query).await?;
    let has_more = mails.len() > page;
    mails.truncate(page);
    let next = mails.last().filter(|_| has_more);
    let next = next.map(|mail| mail.id.to_string());
    let messages: Vec<Value> = mails.into_iter().map(body).collect();
    Ok(Json(json!({ "messages": messages, "next": next })))
}

/// `GET …/mailbox/{id}`
pub(super) async fn show(
    Mailbox(project): Mailbox,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let mail = match id.parse() {
        Ok(id) => mailbox::find(&project, id).await?,
        Err(_) => None,
    };
    mail.map(|mail| Json(body(mail))).ok_or_else(no_mail)
}

/// `DELETE …/mailbox/{id}`
pub(super) async fn delete(
    Mailbox(project): Mailbox,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<StatusCode, PlatformError> {
    let was_there = match id.parse() {
        Ok(id) => mailbox::delete(&project, id).await?,
        Err(_) => false,
    };
    match was_there {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(no_mail()),
    }
}

/// `DELETE …/mailbox`
pub(super) async fn clear(Mailbox(project): Mailbox) -> Result<StatusCode, PlatformError> {
    mailbox::clear(&project).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn no_mail() -> PlatformError {
    PlatformError::NotFound("There is no such mail".to_owned())
}

fn body(mail: Mail) -> Value {
    json!({
        "id": mail.id.to_string(),
        "at": mail.at.format(&Rfc3339).unwrap_or_default(),
        "from": mail.from,
        "to": mail.to,
        "subject": mail.subject,
        "template": mail.template,
        "html": mail.html,
        "text": mail.text,
        "links": mail.links,
        "otp": mail.otp,
    })
}
