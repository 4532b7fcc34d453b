//! `ANY /platform/projects/{ref}/proxy/{service}/v1/*`: a project's services, called in place of the
//! operator's own key (console contract §2.8).
//!
//! Bodies are passed on as they arrive. Errors of the platform have its form; everything else is the
//! service's own response.

use axum::{
    extract::{FromRequestParts, OriginalUri, RawPathParams, Request, State},
    http::{header::AUTHORIZATION, request::Parts},
    response::Response,
};
use http::{HeaderValue, Uri};
use plinth_project::{
    ClientAddress, OperatorCall, Project, ProjectRef, ProjectService, PublicUrl, ServiceCall,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Operator;
use crate::{
    Platform, PlatformError,
    proxy::{Need, Proof, Subject, Target, clean, query_value, without_query_values},
};

/// The header that names the subject, and the parameter for browsers' websockets, which cannot send
/// headers. Those name the operator's access token as `apikey`, as realtime clients do.
const SUBJECT: &str = "x-plinth-as";
const KEY_PARAMETER: &str = "apikey";

/// Longer targets are cut in the audit log.
const MAX_AUDITED_CHARS: usize = 1000;

/// An entry of the audit log.
#[derive(Serialize)]
struct AuditedCall {
    method: String,
    /// For REST with the query, which says what was changed.
    path: String,
    r#as: String,
    status: u16,
}

/// `ANY …/proxy/{service}/v1/*`
pub(super) async fn call(
    State(platform): State<Platform>,
    request: Request,
) -> Result<Response, PlatformError> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let target = Target::parse(&path).ok_or_else(|| no_such_path(&parts))?;
    let is_socket = target.service == ProjectService::Realtime;
    if is_socket {
        take_key_from_query(&mut parts);
    }
    let operator = Operator::from_request_parts(&mut parts, &platform).await?;
    let name = operator.project_by_name(&platform, &reference(&mut parts, &platform).await?)?;
    let reference = platform.reference_of(&name);
    let need = target.need(&parts.method);
    check_access(&platform, &operator, &reference, target, need)?;

    let subject = subject(&parts, is_socket)?;
    subject.check_role(operator.database_access(&reference))?;
    let project = platform.open(&name).await?;
    let services = platform.services();
    let services = services.ok_or_else(|| PlatformError::internal("no service can be called"))?;
    let public_url = public_url(&platform, &parts, &project, target);
    let user = claims_of_user(&platform, &operator, &parts, &project, &subject).await?;
    // A socket can broadcast.
    let is_audited = is_socket || need != Need::Read && !target.is_upload_chunk(&parts.method);
    let audited = is_audited.then(|| AuditedCall::new(&parts, target, &subject));

    clean(&mut parts.headers);
    let proof = Proof::of(&subject, user, operator.name())?;
    let (credentials, key) = proof.attach(&project, target, &mut parts.headers)?;
    parts.uri = service_uri(target, &parts.uri, key.as_deref())?;
    let call = ServiceCall {
        project,
        service: target.service,
        request: Request::from_parts(parts, body),
        credentials,
        public_url,
        ended: Box::pin(until_ended(operator.clone(), platform.clone())),
    };
    let response = services.call(call).await;
    let response = response.ok_or_else(|| {
        PlatformError::NotFound(format!("{} is not served here", target.service.name()))
    })?;
    if let Some(mut audited) = audited {
        audited.status = response.status().as_u16();
        let action = format!("proxy.{}", target.service.name());
        let details = serde_json::to_value(audited).map_err(PlatformError::caused_by)?;
        platform
            .audit(&operator, Some(&reference), &action, details)
            .await;
    }
    Ok(response)
}

/// Project zero's rows are the operators themselves.
fn check_access(
    platform: &Platform,
    operator: &Operator,
    reference: &ProjectRef,
    target: Target<'_>,
    need: Need,
) -> Result<(), PlatformError> {
    if *reference == platform.references().platform {
        return Err(PlatformError::Forbidden(
            "The services of the platform's own project cannot be called through the proxy"
                .to_owned(),
        ));
    }
    operator.require_scope(target.scope(need))?;
    if need.is_met_by(operator.database_access(reference)) {
        Ok(())
    } else {
        Err(PlatformError::Forbidden(
            match need {
                Need::Develop => "Only developers of the project may do this",
                Need::Read | Need::Write => "Your role may only read in this project",
            }
            .to_owned(),
        ))
    }
}

fn no_such_path(parts: &Parts) -> PlatformError {
    let path = parts.extensions.get::<OriginalUri>();
    let path = path.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    PlatformError::NotFound(format!("There is no {} {path}", parts.method))
}

async fn reference(parts: &mut Parts, platform: &Platform) -> Result<String, PlatformError> {
    let params = RawPathParams::from_request_parts(parts, platform).await;
    let params = params.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
    let mut params = params.iter();
    let found = params.find(|(name, _)| *name == "ref");
    Ok(found.map_or("", |(_, value)| value).to_owned())
}

/// Browsers cannot send headers with a websocket.
fn take_key_from_query(parts: &mut Parts) {
    if parts.headers.contains_key(AUTHORIZATION) {
        return;
    }
    let key = query_value(&parts.uri, KEY_PARAMETER);
    let value = key.and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok());
    if let Some(value) = value {
        parts.headers.insert(AUTHORIZATION, value);
    }
}

fn subject(parts: &Parts, is_socket: bool) -> Result<Subject, PlatformError> {
    let mut values = parts.headers.get_all(SUBJECT).iter();
    match (values.next(), values.next()) {
        (None, _) if is_socket => {
            Subject::parse(&query_value(&parts.uri, SUBJECT).unwrap_or_default())
        }
        (None, _) => Ok(Subject::Service),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Subject::parse(text),
            Err(_) => Err(PlatformError::Invalid(format!("{SUBJECT} is not ASCII"))),
        },
        (Some(_), Some(_)) => Err(PlatformError::Invalid(format!(
            "{SUBJECT} is there more than once"
        ))),
    }
}

async fn claims_of_user(
    platform: &Platform,
    operator: &Operator,
    parts: &Parts,
    project: &Project,
    subject: &Subject,
) -> Result<Option<Map<String, Value>>, PlatformError> {
    let Subject::User(id) = subject else {
        return Ok(None);
    };
    let call = operator_call(platform, operator, parts, project);
    Ok(Some(platform.users()?.claims(&call, *id).await?))
}

/// Who asks the auth service.
pub(super) fn operator_call(
    platform: &Platform,
    operator: &Operator,
    parts: &Parts,
    project: &Project,
) -> OperatorCall {
    let user_agent = parts.headers.get(http::header::USER_AGENT);
    let user_agent = user_agent.and_then(|value| value.to_str().ok());
    OperatorCall {
        project: project.clone(),
        operator: operator.name().to_owned(),
        public_url: PublicUrl::new(&platform.base_url(project.reference())),
        client: parts.extensions.get::<ClientAddress>().copied(),
        user_agent: user_agent.unwrap_or_default().to_owned(),
    }
}

/// URLs of uploads lead to the proxy again; all others are for the project's users.
fn public_url(
    platform: &Platform,
    parts: &Parts,
    project: &Project,
    target: Target<'_>,
) -> PublicUrl {
    if target.service != ProjectService::Storage {
        return PublicUrl::new(&platform.base_url(project.reference()));
    }
    let instance = parts.extensions.get::<PublicUrl>();
    let instance = instance.map_or(platform.endpoints().api_url.as_str(), PublicUrl::as_str);
    let reference = project.reference();
    PublicUrl::new(&format!("{instance}/platform/projects/{reference}/proxy"))
}

fn service_uri(target: Target<'_>, sent: &Uri, key: Option<&str>) -> Result<Uri, PlatformError> {
    let names: &[&str] = match target.service {
        ProjectService::Realtime => &[KEY_PARAMETER, SUBJECT],
        _ => &[KEY_PARAMETER],
    };
    let mut text = without_query_values(target.path, sent.query(), names);
    if let Some(key) = key {
        text.push(if text.contains('?') { '&' } else { '?' });
        // A token consists of letters that need no encoding.
        text.push_str(&format!("{KEY_PARAMETER}={key}"));
    }
    // Only a path and a query: a path may begin with two slashes.
    let target = http::uri::PathAndQuery::try_from(text).map_err(PlatformError::caused_by)?;
    Ok(Uri::from(target))
}

async fn until_ended(operator: Operator, platform: Platform) {
    let shutdown = platform.0.shutdown.clone();
    tokio::select! {
        () = operator.until_token_ends(platform) => {}
        () = shutdown.cancelled() => {}
    }
}

impl AuditedCall {
    fn new(parts: &Parts, target: Target<'_>, subject: &Subject) -> Self {
        let query = match (target.service, parts.uri.query()) {
            (ProjectService::Rest, Some(query)) => format!("?{query}"),
            _ => String::new(),
        };
        let path = format!("{}{}{query}", target.service.prefix(), target.path);
        Self {
            method: parts.method.as_str().chars().take(20).collect(),
            path: path.chars().take(MAX_AUDITED_CHARS).collect(),
            r#as: subject.describe(),
            status: 0,
        }
    }
}

/// Whether a request takes part in the rate limit of the management API: services have limits of their
/// own, and an upload consists of many requests.
pub(super) fn is_proxied(path: &str) -> bool {
    let mut segments = path.split('/').skip_while(|part| *part != "projects");
    segments.nth(2) == Some("proxy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxied_paths_are_recognised_by_their_place() {
        assert!(is_proxied("/platform/projects/abc/proxy/rest/v1/films"));
        assert!(!is_proxied("/v1/projects/abc/functions/proxy"));
        assert!(!is_proxied("/platform/projects/proxy"));
        assert!(!is_proxied("/platform/status/x/proxy"));
    }

    #[test]
    fn the_target_keeps_its_spelling() {
        let check = |path: &str, sent: &'static str, key, expected: &str| {
            let target = Target::parse(path).expect("a target");
            let uri = service_uri(target, &Uri::from_static(sent), key).expect("a URI");
            assert_eq!(uri.to_string(), expected);
        };
        let rest = "/projects/a/proxy/rest/v1//a%2Fb";
        check(rest, "/x?id=eq.%2F&apikey=k", None, "//a%2Fb?id=eq.%2F");
        let socket = "/projects/a/proxy/realtime/v1/websocket";
        check(
            socket,
            "/x?vsn=1.0.0&apikey=sbp_1&x-plinth-as=anon",
            Some("a.b.c"),
            "/websocket?vsn=1.0.0&apikey=a.b.c",
        );
    }
}
