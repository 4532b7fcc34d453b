//! Ping and health (§1, §12).

use axum::{Json, extract::State};
use plinth_db::Queries as _;
use plinth_project::{Project, Service};
use serde_json::{Value, json};

use crate::{config::RealtimeConfig, service::RealtimeService};

/// `GET /api/ping`.
pub(crate) async fn ping() -> Json<Value> {
    Json(json!({ "message": "Success" }))
}

/// `GET /api/tenants/{id}/health`, for any id: the project comes from the request. A database that is
/// unreachable makes a project unhealthy only while clients are connected.
pub(crate) async fn health(
    State(service): State<RealtimeService>,
    project: Project,
) -> Json<Value> {
    let hub = service.hub(&project);
    let sockets = hub.sockets();
    let ping = async {
        let mut connection = project.db.as_service(Service::Realtime).await?;
        connection.query("select 1", &[]).await
    };
    let is_connected = ping.await.is_ok();
    let config = project.config::<RealtimeConfig>();
    Json(json!({
        "data": {
            "healthy": is_connected || sockets == 0,
            "db_connected": is_connected,
            "replication_connected": hub.stream.is_up(),
            "connected_cluster": sockets,
            "region": config.region,
            "node": service.node_name(),
        }
    }))
}
