//! Jobs, events, settings, logs and reports.

use super::{get, patch, post, put};
use crate::{
    api::access::{Access, Needs::{OnProject, Somewhere}, RequiredScope::{Nothing, OneOf}},
    members::Capability,
};

pub(super) const ROWS: &[Access] = &[
    get("/platform/jobs", OneOf(&["project_admin_read"]), SignedIn),
    get("/platform/jobs/{id}", OneOf(&["project_admin_read"]), SignedIn),
    post("/platform/jobs/{id}/cancel", OneOf(&["project_admin_write"]), Somewhere(Capability::Develop)),
    get("/platform/events", OneOf(&["project_admin_read"]), SignedIn),
    get("/platform/openapi.json", Nothing, SignedIn),
    get("/platform/projects/{ref}/config", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    patch("/platform/projects/{ref}/config", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)),
    get("/platform/projects/{ref}/config.toml", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    put("/platform/projects/{ref}/config.toml", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)),
    get("/v1/projects/{ref}/postgrest", OneOf(&["data_api_config_read"]), OnProject(Capability::Develop)),
    patch("/v1/projects/{ref}/postgrest", OneOf(&["data_api_config_write"]), OnProject(Capability::Develop)),
    get("/v1/projects/{ref}/config/auth", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    patch("/v1/projects/{ref}/config/auth", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)),
    get("/v1/projects/{ref}/config/storage", OneOf(&["storage_config_read"]), OnProject(Capability::Develop)),
    patch("/v1/projects/{ref}/config/storage", OneOf(&["storage_config_write"]), OnProject(Capability::Develop)),
    get("/platform/projects/{ref}/logs/histogram", OneOf(&["analytics_logs_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/logs/context", OneOf(&["analytics_logs_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/logs/requests/{id}", OneOf(&["analytics_logs_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/logs/export", OneOf(&["analytics_logs_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/logs/sources", OneOf(&["analytics_logs_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/summary", OneOf(&["projects_read"]), SignedIn),
    get("/platform/projects/{ref}/search", OneOf(&["database_read"]), OnProject(Capability::SignedIn)),
    get("/platform/projects/{ref}/overview", OneOf(&["analytics_usage_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/metrics/query", OneOf(&["analytics_usage_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/queries", OneOf(&["database_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/reports/database", OneOf(&["database_read"]), OnProject(Capability::Observe)),
];
