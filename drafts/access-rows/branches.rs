//! Review and merge of branches, and advisors.

use super::{delete, get, patch, post};
use crate::{
    api::access::{Access, Needs::{OnBranch, OnProject}, RequiredScope::{OneOf}},
    members::Capability,
};

pub(super) const ROWS: &[Access] = &[
    get("/v1/branches/{id}/diff", OneOf(&["branching_development_read", "branching_production_read"]), OnBranch(Capability::Observe)),
    post("/v1/branches/{id}/merge", OneOf(&["branching_production_write"]), OnBranch(Capability::Develop)),
    post("/v1/branches/{id}/push", OneOf(&["branching_development_write", "branching_production_write"]), OnBranch(Capability::Develop)),
    post("/v1/branches/{id}/reset", OneOf(&["branching_development_write", "branching_production_write"]), OnBranch(Capability::Develop)),
    get("/platform/projects/{ref}/branches/{name}/review", OneOf(&["branching_development_read", "branching_production_read"]), OnProject(Capability::Observe)),
    post("/platform/projects/{ref}/branches/{name}/merge", OneOf(&["branching_production_write"]), OnProject(Capability::Develop)),
    post("/platform/projects/{ref}/branches/{name}/rebase", OneOf(&["branching_development_write", "branching_production_write"]), OnProject(Capability::Develop)),
    get("/v1/projects/{ref}/advisors/security", OneOf(&["advisors_read"]), OnProject(Capability::Observe)),
    get("/v1/projects/{ref}/advisors/performance", OneOf(&["advisors_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/advisors", OneOf(&["advisors_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/advisors/history", OneOf(&["advisors_read"]), OnProject(Capability::Observe)),
    get("/platform/projects/{ref}/advisors/ignores", OneOf(&["advisors_read"]), OnProject(Capability::Observe)),
    post("/platform/projects/{ref}/advisors/ignores", OneOf(&["project_admin_write"]), OnProject(Capability::Develop)),
    patch("/platform/projects/{ref}/advisors/ignores/{id}", OneOf(&["project_admin_write"]), OnProject(Capability::Develop)),
    delete("/platform/projects/{ref}/advisors/ignores/{id}", OneOf(&["project_admin_write"]), OnProject(Capability::Develop)),
];
