//! `GET /v1/projects/{ref}/health` (console contract §2.4.1).

use axum::{Json, extract::State, http::Uri};
use plinth_project::{Project, ProjectName, ProjectStatus, Service};
use serde_json::{Value, json};

use super::{
    Operator,
    body::{Segments, without_nulls},
};
use crate::{Platform, PlatformError};

/// A part of a project that can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Auth,
    Realtime,
    Rest,
    Storage,
    /// The database and its owner's login; poolers of the hosted service are that login here.
    Database,
}

/// Names of the Management API, and whether they are reported without being asked for.
const PARTS: [(&str, Part, bool); 8] = [
    ("auth", Part::Auth, true),
    ("db", Part::Database, true),
    ("db_postgres_user", Part::Database, false),
    ("pooler", Part::Database, false),
    ("pg_bouncer", Part::Database, false),
    ("realtime", Part::Realtime, true),
    ("rest", Part::Rest, true),
    ("storage", Part::Storage, true),
];

/// The health of the services that `services` names, in that order.
pub(super) async fn health(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    uri: Uri,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let asked = parse_services(uri.query().unwrap_or_default())?;
    let row = platform.load_project(&project).await?;
    let opened = open(&platform, &project, row.status).await;
    let mut parts = Vec::new();
    for (name, part) in asked {
        let checked = match &opened {
            Ok(project) => check(project, part).await,
            Err(reason) => Err(reason.clone()),
        };
        parts.push(part_body(name, row.status, checked.err()));
    }
    Ok(Json(parts.into()))
}

/// `services=auth&services=db`, or `services=auth,db`.
fn parse_services(query: &str) -> Result<Vec<(&'static str, Part)>, PlatformError> {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let values: Vec<_> = pairs
        .filter(|(name, _)| name == "services" || name == "services[]")
        .map(|(_, value)| value)
        .collect();
    let names: Vec<&str> = values
        .iter()
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        let usual = PARTS.iter().filter(|(_, _, is_usual)| *is_usual);
        return Ok(usual.map(|(name, part, _)| (*name, *part)).collect());
    }
    names
        .into_iter()
        .map(|asked| {
            let found = PARTS.iter().find(|(name, ..)| *name == asked);
            let found = found.map(|(name, part, _)| (*name, *part));
            found.ok_or_else(|| {
                let known = PARTS.map(|(name, ..)| name).join(", ");
                PlatformError::Invalid(format!("There is no service {asked}; there are {known}"))
            })
        })
        .collect()
}

async fn open(
    platform: &Platform,
    project: &ProjectName,
    status: ProjectStatus,
) -> Result<Project, String> {
    if status != ProjectStatus::ActiveHealthy {
        return Err(format!("the project is {status}"));
    }
    let opened = platform.open(project).await;
    opened.map_err(|error| error.to_string())
}

/// Each service is in this process; what can fail is its login to the database.
async fn check(project: &Project, part: Part) -> Result<(), String> {
    let ping = "select 1";
    let service = match part {
        Part::Auth => Service::Auth,
        Part::Realtime => Service::Realtime,
        Part::Storage => Service::Storage,
        Part::Rest => return project.db.as_login().await.map(drop).map_err(describe),
        Part::Database => {
            let owner = project.db.as_owner().await.map_err(describe)?;
            return owner.batch_execute(ping).await.map_err(describe);
        }
    };
    let mut client = project.db.as_service(service).await.map_err(describe)?;
    client.batch_execute(ping).await.map_err(describe)
}

fn describe(error: impl ToString) -> String {
    error.to_string()
}

fn part_body(name: &str, status: ProjectStatus, error: Option<String>) -> Value {
    let state = match (&error, status) {
        (None, _) => "ACTIVE_HEALTHY",
        (Some(_), ProjectStatus::ComingUp) => "COMING_UP",
        (Some(_), _) => "UNHEALTHY",
    };
    without_nulls(json!({
        "name": name,
        "healthy": error.is_none(),
        "status": state,
        "error": error,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(query: &str) -> Result<Vec<&'static str>, String> {
        let parsed = parse_services(query).map_err(|error| error.to_string())?;
        Ok(parsed.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn services_are_named_one_by_one_or_as_a_list() {
        let asked = Ok(vec!["rest", "auth"]);
        assert_eq!(names("services=rest&services=auth"), asked);
        assert_eq!(names("services=rest,auth"), asked);
        assert_eq!(names("services%5B%5D=rest&x=y&services[]=auth"), asked);
    }

    #[test]
    fn without_a_name_the_services_of_every_project_are_meant() {
        let usual = Ok(vec!["auth", "db", "realtime", "rest", "storage"]);
        assert_eq!(names(""), usual);
        assert_eq!(names("services="), usual);
    }

    #[test]
    fn an_unknown_service_is_named() {
        let error = names("services=auth&services=mail").expect_err("rejected");
        assert!(
            error.starts_with("There is no service mail; there are auth, db"),
            "{error}"
        );
    }
}
