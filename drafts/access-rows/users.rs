//! Users of a project, and calls to its services.

use super::{any, delete, get, post};
use crate::{
    api::access::{Access, Needs::{OnProject}, RequiredScope::{Nothing, OneOf}},
    members::Capability,
};

pub(super) const ROWS: &[Access] = &[
    get("/platform/projects/{ref}/auth/users", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    get("/platform/projects/{ref}/auth/users/{id}", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    get("/platform/projects/{ref}/auth/users/{id}/sessions", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    delete("/platform/projects/{ref}/auth/users/{id}/sessions", OneOf(&["auth_config_write"]), OnProject(Capability::WriteRows)),
    delete("/platform/projects/{ref}/auth/users/{id}/sessions/{session}", OneOf(&["auth_config_write"]), OnProject(Capability::WriteRows)),
    get("/platform/projects/{ref}/auth/users/{id}/audit", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    get("/platform/projects/{ref}/auth/users/{id}/references", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    post("/platform/projects/{ref}/auth/users/{id}/impersonate", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)).sensitive(),
    get("/platform/projects/{ref}/auth/audit", OneOf(&["auth_config_read"]), OnProject(Capability::ReadRows)),
    post("/platform/projects/{ref}/auth/mail/test", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)),
    post("/platform/projects/{ref}/auth/templates/preview", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    post("/platform/projects/{ref}/auth/redirect-test", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    post("/platform/projects/{ref}/auth/hooks/test", OneOf(&["auth_config_write"]), OnProject(Capability::Develop)),
    get("/platform/projects/{ref}/auth/hooks/calls", OneOf(&["auth_config_read"]), OnProject(Capability::Develop)),
    any("/platform/projects/{ref}/proxy/{service}/v1", Nothing, OnProject(Capability::SignedIn)),
    any("/platform/projects/{ref}/proxy/{service}/v1/", Nothing, OnProject(Capability::SignedIn)),
    any("/platform/projects/{ref}/proxy/{service}/v1/{*path}", Nothing, OnProject(Capability::SignedIn)),
];
