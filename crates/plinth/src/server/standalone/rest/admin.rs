//! The admin server: health and metrics on a port of their own (rest contract §10).

use std::{fmt::Write, path::PathBuf};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use plinth_db::{Target, Usage};
use plinth_gateway::Metrics;
use plinth_project::Project;
use plinth_rest::RestService;

/// State of the admin server.
#[derive(Clone)]
pub(super) struct Admin {
    pub(super) service: RestService,
    pub(super) project: Project,
    pub(super) metrics: Metrics,
    /// Pool capacity, reported before the pool is opened.
    pub(super) pool_size: usize,
    /// The API's unix socket; the API is not live without this file.
    pub(super) api_socket: Option<PathBuf>,
    /// Connected to for readiness, because pooled connections may not have noticed a loss yet.
    pub(super) database: Target,
}

impl Admin {
    /// All other paths are 404.
    pub(super) fn routes(self) -> Router {
        Router::new()
            .route("/live", get(live))
            .route("/ready", get(ready))
            .route("/metrics", get(metrics))
            .route("/schema_cache", get(schema_cache))
            .with_state(self)
    }

    fn is_live(&self) -> bool {
        self.api_socket.as_ref().is_none_or(|path| path.exists())
    }

    async fn is_ready(&self) -> bool {
        self.service.is_ready(&self.project) && self.database.connect().await.is_ok()
    }
}

/// `GET /live`: whether clients can reach the API.
async fn live(State(admin): State<Admin>) -> StatusCode {
    if admin.is_live() {
        StatusCode::OK
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    }
}

/// `GET /ready`: whether requests can be served.
async fn ready(State(admin): State<Admin>) -> StatusCode {
    if !admin.is_ready().await {
        StatusCode::SERVICE_UNAVAILABLE
    } else if !admin.is_live() {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::OK
    }
}

/// `GET /metrics`: Prometheus metrics.
async fn metrics(State(admin): State<Admin>) -> Response {
    let mut page = admin.metrics.render();
    let unused = Usage {
        open: 0,
        in_use: 0,
        waiting: 0,
        max: admin.pool_size,
    };
    add_pool(&mut page, admin.project.db.usage().unwrap_or(unused));
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], page).into_response()
}

fn add_pool(page: &mut String, usage: Usage) {
    let gauges = [
        (
            "pgrst_db_pool_available",
            "Available connections in the pool",
            usage.open.saturating_sub(usage.in_use),
        ),
        (
            "pgrst_db_pool_waiting",
            "Requests waiting to acquire a pool connection",
            usage.waiting,
        ),
        ("pgrst_db_pool_max", "Max pool connections", usage.max),
    ];
    for (name, help, value) in gauges {
        // Writing to a string cannot fail.
        _ = write!(
            page,
            "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n"
        );
    }
}

/// `GET /schema_cache`: a dump of the schema cache.
async fn schema_cache(State(admin): State<Admin>) -> String {
    let dump = admin.service.schema_dump(&admin.project);
    dump.unwrap_or_default()
}
