//! Renders errors of PostgreSQL (rest contract §7.4, §7.5).

mod statuses;

use http::{HeaderName, HeaderValue, StatusCode};
use plinth_db::PgError;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Rendered, code::Code, rendered::retry_after};

pub(super) use statuses::entries;

/// The response to an error that PostgreSQL reported.
pub(super) fn render(error: &PgError, is_anonymous: bool) -> Rendered {
    if error.sqlstate() == "PGRST" {
        return raised(error).unwrap_or_else(|problem| *problem);
    }
    let status = statuses::status(error, is_anonymous);
    let reason = error
        .sqlstate()
        .starts_with("PT")
        .then(|| error.message.clone());
    Rendered {
        status,
        reason,
        code: error.sqlstate().to_owned(),
        message: error.message.clone(),
        details: error.detail.as_deref().map_or(Value::Null, Value::from),
        hint: error.hint.as_deref().map_or(Value::Null, Value::from),
        headers: headers_of(status),
    }
}

fn headers_of(status: StatusCode) -> Vec<(HeaderName, HeaderValue)> {
    match status {
        StatusCode::UNAUTHORIZED => vec![(
            http::header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer"),
        )],
        _ => retry_after(status),
    }
}

/// MESSAGE of `RAISE sqlstate 'PGRST'`.
#[derive(Deserialize)]
struct RaisedMessage {
    code: String,
    message: String,
    details: Option<String>,
    hint: Option<String>,
}

/// DETAIL of the same.
#[derive(Deserialize)]
struct RaisedDetail {
    status: u16,
    headers: Map<String, Value>,
    status_text: Option<String>,
}

const MESSAGE_HINT: &str = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' \
                            and optional keys: 'details', 'hint'.";
const DETAIL_HINT: &str = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' \
                           and optional key: 'status_text'.";

/// The response that a function chose with `RAISE SQLSTATE 'PGRST'`, or the error of its choice.
fn raised(error: &PgError) -> Result<Rendered, Box<Rendered>> {
    let message = error.message.as_str();
    let malformed = |details: String, hint: &str| {
        Box::new(Rendered {
            status: Code::MalformedRaise.status(),
            reason: None,
            code: Code::MalformedRaise.as_str().to_owned(),
            message: "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error".to_owned(),
            details: details.into(),
            hint: hint.into(),
            headers: Vec::new(),
        })
    };
    let body: RaisedMessage = serde_json::from_str(message).map_err(|_| {
        let details = format!("Invalid JSON value for MESSAGE: '{message}'");
        malformed(details, MESSAGE_HINT)
    })?;
    let detail = error.detail.as_deref().ok_or_else(|| {
        let details = "DETAIL is missing in the RAISE statement".to_owned();
        malformed(details, DETAIL_HINT)
    })?;
    let invalid = || {
        let details = format!("Invalid JSON value for DETAIL: '{detail}'");
        malformed(details, DETAIL_HINT)
    };
    let response: RaisedDetail = serde_json::from_str(detail).map_err(|_| invalid())?;
    let headers = response
        .headers
        .iter()
        .map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let value = HeaderValue::from_str(value.as_str()?).ok()?;
            Some((name, value))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(invalid)?;
    Ok(Rendered {
        status: StatusCode::from_u16(response.status).map_err(|_| invalid())?,
        reason: response.status_text,
        code: body.code,
        message: body.message,
        details: body.details.map_or(Value::Null, Value::from),
        hint: body.hint.map_or(Value::Null, Value::from),
        headers,
    })
}

#[cfg(test)]
mod tests;
