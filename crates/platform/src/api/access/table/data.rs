//! Rows, SQL, files, snippets and tests of policies.

use super::{delete, get, patch, post, put};
use crate::{
    api::access::{
        Access,
        Needs::{OnProject, SignedIn},
        RequiredScope::OneOf,
    },
    members::Capability,
};

pub(super) const ROWS: &[Access] = &[
    post(
        "/platform/projects/{ref}/data/query",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::ReadRows),
    ),
    post(
        "/platform/projects/{ref}/data/cell",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::ReadRows),
    ),
    post(
        "/platform/projects/{ref}/data/count",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::ReadRows),
    ),
    post(
        "/platform/projects/{ref}/data/export",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::ReadRows),
    ),
    post(
        "/platform/projects/{ref}/data/insert",
        OneOf(&["database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/data/update",
        OneOf(&["database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/data/delete",
        OneOf(&["database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/data/import",
        OneOf(&["database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/data/import/preview",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/data/import/{job}/cancel",
        OneOf(&["database_write"]),
        OnProject(Capability::WriteRows),
    ),
    get(
        "/platform/projects/{ref}/data/import/{job}/rejects",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::WriteRows),
    ),
    post(
        "/platform/projects/{ref}/sql",
        OneOf(&["database_write"]),
        OnProject(Capability::Observe),
    ),
    delete(
        "/platform/projects/{ref}/sql/{query_id}",
        OneOf(&["database_write"]),
        OnProject(Capability::Observe),
    ),
    post(
        "/platform/projects/{ref}/sql/explain",
        OneOf(&["database_write"]),
        OnProject(Capability::Observe),
    ),
    get(
        "/platform/projects/{ref}/activity",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::Observe),
    ),
    post(
        "/platform/projects/{ref}/activity/{pid}/cancel",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    post(
        "/platform/projects/{ref}/activity/{pid}/terminate",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    get(
        "/platform/projects/{ref}/snippets",
        OneOf(&["snippets_read", "database_read"]),
        OnProject(Capability::SignedIn),
    ),
    post(
        "/platform/projects/{ref}/snippets",
        OneOf(&["snippets_write", "database_write"]),
        OnProject(Capability::SignedIn),
    ),
    get(
        "/platform/projects/{ref}/snippets/{id}",
        OneOf(&["snippets_read", "database_read"]),
        OnProject(Capability::SignedIn),
    ),
    patch(
        "/platform/projects/{ref}/snippets/{id}",
        OneOf(&["snippets_write", "database_write"]),
        OnProject(Capability::SignedIn),
    ),
    delete(
        "/platform/projects/{ref}/snippets/{id}",
        OneOf(&["snippets_write", "database_write"]),
        OnProject(Capability::SignedIn),
    ),
    get(
        "/v1/snippets",
        OneOf(&["snippets_read", "database_read"]),
        SignedIn,
    ),
    get(
        "/v1/snippets/{id}",
        OneOf(&["snippets_read", "database_read"]),
        SignedIn,
    ),
    post(
        "/platform/projects/{ref}/policies/test",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    get(
        "/platform/projects/{ref}/policies/cases",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::Observe),
    ),
    post(
        "/platform/projects/{ref}/policies/cases",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    put(
        "/platform/projects/{ref}/policies/cases/{id}",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    delete(
        "/platform/projects/{ref}/policies/cases/{id}",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    post(
        "/platform/projects/{ref}/policies/cases/run",
        OneOf(&["database_write"]),
        OnProject(Capability::Develop),
    ),
    get(
        "/platform/projects/{ref}/policies/cases/export",
        OneOf(&["database_read", "database_write"]),
        OnProject(Capability::Observe),
    ),
];
