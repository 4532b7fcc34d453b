//! What tools ask about the service (§1, §12).

use axum::{Json, extract::State};
use plinth_db::Queries as _;
use plinth_project::{Project, Service};
use serde_json::{Value, json};

use crate::{config::RealtimeConfig, service::RealtimeService};

/// `GET /api/ping`.
pub(crate) async fn ping() -> Json<Value> {
    Json(json!({ "message": "Success" }))
}

/// `GET /api/tenants/{id}/health`, whatever the id: a path below a project is that project's. A
/// database that is away harms nobody as long as nobody is connected.
pub(crate) async fn health(
    State(service): State<RealtimeService>,
    project: Project,
) -> Json<Value> {
    let hub = service.hub(&project);
    let sockets = hub.sockets();
    let is_connected = async {
        let mut connection = project.db.as_service(Service::Realtime).await?;
        connection.query("select 1", &[]).await
    };
    let is_connected = is_connected.await.is_ok();
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
