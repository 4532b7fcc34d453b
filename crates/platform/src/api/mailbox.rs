//! `/platform/projects/{ref}/mailbox`: mails of a project without a mail server (console contract
//! §2.8).
//!
//! The only part of the platform API that accepts a project's own secret key (F10): developers of an
//! application have that key and need the links in the mails.

use axum::{
    Json,
    extract::{FromRequestParts, RawPathParams},
    http::{StatusCode, header::AUTHORIZATION, request::Parts},
};
use plinth_project::{Credentials, Project};
use plinth_token::SERVICE_ROLE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    ControlSocket, Operator,
    body::{Params, Segments},
    openapi::Extracted,
};
use crate::{
    Platform, PlatformError,
    mailbox::{self, Mail, MailQuery},
};

const DEFAULT_LIMIT: i64 = 50;
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
        let project = if is_operator(parts) {
            let operator = Operator::from_request_parts(parts, platform).await?;
            platform
                .open(&operator.project_by_name(platform, &text)?)
                .await?
        } else {
            by_secret_key(parts, platform, &text).await?
        };
        if mailbox::is_enabled(&project) {
            Ok(Self(project))
        } else {
            Err(PlatformError::MailboxOff)
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

/// Whether the credential can only be an operator's.
fn is_operator(parts: &Parts) -> bool {
    let bearer = parts.headers.get(AUTHORIZATION);
    let bearer = bearer.and_then(|value| value.to_str().ok()).unwrap_or("");
    let token = bearer.split_once(' ').map_or("", |(_, token)| token.trim());
    parts.extensions.get::<ControlSocket>().is_some() || token.starts_with("sbp_")
}

/// An unknown project and a wrong key give the same error, so that refs cannot be probed.
async fn by_secret_key(
    parts: &Parts,
    platform: &Platform,
    text: &str,
) -> Result<Project, PlatformError> {
    const UNAUTHORIZED: PlatformError = PlatformError::Unauthorized(
        "A personal access token or the project's secret key is needed",
    );
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let name = text.parse().map_err(|_| UNAUTHORIZED)?;
    let project = match platform.open(&name).await {
        Err(PlatformError::NotFound(_)) => return Err(UNAUTHORIZED),
        project => project?,
    };
    let credentials = Credentials::read(&project, &parts.headers, None, now);
    match credentials.caller() {
        Ok(caller) if caller.role() == SERVICE_ROLE => Ok(project),
        _ => Err(UNAUTHORIZED),
    }
}

#[derive(Deserialize, JsonSchema)]
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
        let since = non_empty(&self.since).map(|text| {
            plinth_db::parse_time(text).ok_or_else(|| {
                PlatformError::Invalid(format!(
                    "since: {text:?} is no time, as in 2026-01-31T12:00:00Z"
                ))
            })
        });
        let before = non_empty(&self.cursor).map(|text| {
            text.parse()
                .map_err(|_| PlatformError::Invalid("This cursor is not one of ours".to_owned()))
        });
        Ok(MailQuery {
            // Addresses are stored in lower case.
            to: non_empty(&self.to).map(|to| to.trim().to_lowercase()),
            since: since.transpose()?,
            before: before.transpose()?,
            limit: self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        })
    }
}

fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// `GET …/mailbox`: newest first.
pub(super) async fn list(
    Mailbox(project): Mailbox,
    Params(params): Params<MailParams>,
) -> Result<Json<MailboxBody>, PlatformError> {
    let mut query = params.to_query()?;
    let page = usize::try_from(query.limit).unwrap_or_default();
    query.limit += 1;
    let mut mails = mailbox::list(&project, &query).await?;
    let has_more = mails.len() > page;
    mails.truncate(page);
    let next = mails.last().filter(|_| has_more);
    let next = next.map(|mail| mail.id.to_string());
    let messages = mails.into_iter().map(body).collect();
    Ok(Json(MailboxBody { messages, next }))
}

/// `GET …/mailbox/{id}`
pub(super) async fn show(
    Mailbox(project): Mailbox,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<MailBody>, PlatformError> {
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
    let existed = match id.parse() {
        Ok(id) => mailbox::delete(&project, id).await?,
        Err(_) => false,
    };
    if existed {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(no_mail())
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

/// A page of mails, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct MailboxBody {
    messages: Vec<MailBody>,
    /// The cursor of the next page.
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MailBody {
    id: String,
    at: String,
    from: String,
    to: String,
    subject: String,
    /// Which of the auth service's mails it is.
    template: String,
    html: String,
    text: String,
    /// URLs in it.
    links: Vec<String>,
    /// The one-time code in it.
    otp: Option<String>,
}

fn body(mail: Mail) -> MailBody {
    MailBody {
        id: mail.id.to_string(),
        at: mail.at.format(&Rfc3339).unwrap_or_default(),
        from: mail.from,
        to: mail.to,
        subject: mail.subject,
        template: mail.template,
        html: mail.html,
        text: mail.text,
        links: mail.links,
        otp: mail.otp,
    }
}

impl Extracted for Mailbox {}
