//! `/platform/projects/{ref}/activity`: sessions of a project's database (console contract N77).

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::LoginKind;
use plinth_query::{Backend, Signal};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Operator,
    body::Segments,
    data::{Opened, open},
};
use crate::{Platform, PlatformError};

/// Sessions of a database.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Activity {
    /// They, active ones first.
    sessions: Vec<Backend>,
}

/// `GET …/activity`: who is at work in the database.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Activity>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let sessions = list_of(&platform, &opened).await?;
    Ok(Json(Activity { sessions }))
}

/// `POST …/activity/{pid}/cancel`: cancels a session's statement.
pub(super) async fn cancel(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, pid)): Segments<(String, i32)>,
) -> Result<StatusCode, PlatformError> {
    signal(operator, platform, &text, pid, Signal::Cancel).await
}

/// `POST …/activity/{pid}/terminate`: ends a session.
pub(super) async fn terminate(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, pid)): Segments<(String, i32)>,
) -> Result<StatusCode, PlatformError> {
    signal(operator, platform, &text, pid, Signal::Terminate).await
}

async fn signal(
    operator: Operator,
    platform: Platform,
    text: &str,
    pid: i32,
    signal: Signal,
) -> Result<StatusCode, PlatformError> {
    let opened = open(&platform, &operator, text).await?;
    if !send(&platform, &opened, pid, signal).await? {
        return Err(PlatformError::NotFound(format!(
            "There is no session {pid} in this project"
        )));
    }
    let action = match signal {
        Signal::Cancel => "activity.cancel",
        Signal::Terminate => "activity.terminate",
    };
    let details = json!({ "pid": pid });
    platform
        .audit(&operator, Some(&opened.reference), action, details)
        .await;
    Ok(StatusCode::NO_CONTENT)
}

/// The sessions of the project's own logins.
pub(super) async fn list_of(
    platform: &Platform,
    opened: &Opened,
) -> Result<Vec<Backend>, PlatformError> {
    let admin = opened.project.db.as_admin().await?;
    let logins = logins(platform, opened);
    Ok(plinth_query::list_backends(&admin, &logins).await?)
}

/// Sends a signal to a session of the project's own logins; returns whether there is such a session.
pub(super) async fn send(
    platform: &Platform,
    opened: &Opened,
    pid: i32,
    signal: Signal,
) -> Result<bool, PlatformError> {
    let admin = opened.project.db.as_admin().await?;
    let logins = logins(platform, opened);
    Ok(plinth_query::signal_backend(&admin, &logins, pid, signal).await?)
}

/// What tools log in as too: temporary logins are named for the project.
fn logins(platform: &Platform, opened: &Opened) -> Vec<String> {
    let reference = &opened.reference;
    let own = LoginKind::ALL.iter().map(|kind| kind.role_name(reference));
    let mut logins: Vec<String> = own.collect();
    logins.push(format!("cli_login_{reference}"));
    if !platform.cluster().has_owner_logins {
        // An external server, where owners work as its own administrating role.
        logins.push(platform.cluster().admin.clone());
    }
    logins
}
