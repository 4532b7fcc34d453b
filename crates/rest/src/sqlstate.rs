//! From an error of Postgres to a response (rest contract §7.4, §7.5).

use http::{HeaderName, HeaderValue, StatusCode};
use plinth_db::PgError;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Rendered;

/// What the client is told about an error that Postgres reported.
pub(crate) fn render(error: &PgError, is_anonymous: bool) -> Rendered {
    if error.sqlstate() == "PGRST" {
        return raised(error).unwrap_or_else(|problem| *problem);
    }
    let status = status(error, is_anonymous);
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
        StatusCode::SERVICE_UNAVAILABLE => {
            vec![(http::header::RETRY_AFTER, HeaderValue::from_static("1"))]
        }
        _ => Vec::new(),
    }
}

/// The first row of the table that fits.
#[rustfmt::skip]
fn status(error: &PgError, is_anonymous: bool) -> StatusCode {
    let code = error.sqlstate();
    let message = error.message.as_str();
    let class = code.get(..2).unwrap_or("");
    match (class, code) {
        ("08", _) => StatusCode::SERVICE_UNAVAILABLE,
        ("09", _) => StatusCode::INTERNAL_SERVER_ERROR,
        ("0L" | "0P", _) => StatusCode::FORBIDDEN,
        (_, "21000") if message.ends_with("requires a WHERE clause") => StatusCode::BAD_REQUEST,
        (_, "21000") => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "22023") if message.starts_with("role ") && message.ends_with("does not exist") => {
            StatusCode::UNAUTHORIZED
        }
        (_, "23503" | "23505") => StatusCode::CONFLICT,
        (_, "25006") => StatusCode::METHOD_NOT_ALLOWED,
        ("25", _) => StatusCode::INTERNAL_SERVER_ERROR,
        ("28", _) => StatusCode::FORBIDDEN,
        ("2D" | "38" | "39" | "3B" | "40", _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "53400") => StatusCode::INTERNAL_SERVER_ERROR,
        ("53", _) => StatusCode::SERVICE_UNAVAILABLE,
        ("54" | "55", _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "57P01") => StatusCode::SERVICE_UNAVAILABLE,
        ("57" | "58" | "F0" | "HV", _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "P0001") => StatusCode::BAD_REQUEST,
        ("P0" | "XX", _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "42883") if message.starts_with("function xmlagg(") => StatusCode::NOT_ACCEPTABLE,
        (_, "42883" | "42P01") => StatusCode::NOT_FOUND,
        (_, "42P17") => StatusCode::INTERNAL_SERVER_ERROR,
        (_, "42501") if is_anonymous => StatusCode::UNAUTHORIZED,
        (_, "42501") => StatusCode::FORBIDDEN,
        ("PT", _) => chosen_status(&code[2..]),
        _ => StatusCode::BAD_REQUEST,
    }
}

fn chosen_status(digits: &str) -> StatusCode {
    digits
        .parse()
        .ok()
        .and_then(|number: u16| StatusCode::from_u16(number).ok())
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// MESSAGE of `RAISE sqlstate 'PGRST'`.
#[derive(Deserialize)]
struct RaisedMessage {
    code: String,
    message: String,
    details: Option<String>,
    hint: Option<String>,
}

/// Its DETAIL.
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

/// A function that chose its whole response; else what is wrong with its choice.
fn raised(error: &PgError) -> Result<Rendered, Box<Rendered>> {
    let message = error.message.as_str();
    let malformed = |details: String, hint: &str| {
        Box::new(Rendered {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            reason: None,
            code: "PGRST121".to_owned(),
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
