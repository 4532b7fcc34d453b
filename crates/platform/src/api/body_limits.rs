//! Routes whose bodies may be longer than others.

use axum::{
    extract::{DefaultBodyLimit, Request},
    middleware::Next,
    response::Response,
};
use plinth_project::BodyLimit;

use super::sql::MAX_SCRIPT_BYTES;

/// Longest body with rows.
const MAX_ROWS_BYTES: usize = 32 * 1024 * 1024;
/// Longest body with SQL: what is escaped in JSON takes more room.
const MAX_SQL_BYTES: usize = 2 * MAX_SCRIPT_BYTES;

/// A limit of its own.
#[derive(Debug, PartialEq, Eq)]
enum Limit {
    Bytes(usize),
    /// The reader looks after it.
    None,
}

/// Middleware: sets the limits.
pub(super) async fn set(mut request: Request, next: Next) -> Response {
    if let Some(limit) = limit_of(request.uri().path()) {
        let meter = request.extensions().get::<BodyLimit>().cloned();
        match limit {
            Limit::Bytes(bytes) => {
                DefaultBodyLimit::max(bytes).apply(&mut request);
                if let Some(meter) = meter {
                    meter.set(bytes as u64);
                }
            }
            Limit::None => {
                DefaultBodyLimit::disable().apply(&mut request);
                if let Some(meter) = meter {
                    meter.lift();
                }
            }
        }
    }
    next.run(request).await
}

fn limit_of(path: &str) -> Option<Limit> {
    let (_, below) = path.strip_prefix("/platform/projects/")?.split_once('/')?;
    Some(match below {
        "data/insert" | "data/update" => Limit::Bytes(MAX_ROWS_BYTES),
        "sql" | "sql/explain" => Limit::Bytes(MAX_SQL_BYTES),
        "data/import" | "data/import/preview" => Limit::None,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_routes_have_limits_of_their_own() {
        let of = |path| limit_of(path);
        assert_eq!(
            of("/platform/projects/default/data/import"),
            Some(Limit::None)
        );
        assert!(matches!(
            of("/platform/projects/x/sql"),
            Some(Limit::Bytes(_))
        ));
        assert_eq!(of("/platform/projects/x/seed"), None);
        assert_eq!(of("/v1/projects/x/sql"), None);
    }
}
