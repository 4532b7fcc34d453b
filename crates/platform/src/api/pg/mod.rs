//! `/pg/{ref}`: what is in a project's database, with the paths and the JSON of postgres-meta (console
//! contract §2.7). The headers that lead postgres-meta to a database (`pg`, `x-pg-application-name`)
//! are ignored: the operator's token and the path say it.
//!
//! Where a route is ours alone (`/constraints`, `/types` by other verbs than GET, `/indexes` by POST,
//! `/dependents`, `/duplicate`), it says so.

mod asked;
mod columns;
mod constraints;
mod dependents;
mod error;
mod extensions;
mod functions;
mod indexes;
mod lists;
mod policies;
mod privileges;
mod publications;
mod query;
mod roles;
mod schemas;
mod tables;
mod triggers;
mod types;
mod typescript;

use axum::{
    Router,
    extract::OriginalUri,
    http::Method,
    middleware,
    routing::{get, post},
};
use plinth_catalog::objects::{
    ForeignTable, Function, MaterializedView, Policy, Publication, Trigger, View,
};

use crate::{Platform, PlatformError};

/// Everything below `/pg/{ref}`.
pub(super) fn routes() -> Router<Platform> {
    objects()
        .merge(dependents())
        .route("/query", post(query::run))
        .route("/generators/typescript", get(typescript::generate))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(middleware::map_response(error::with_error_member))
}

fn objects() -> Router<Platform> {
    Router::new()
        .route("/schemas", get(schemas::list).post(schemas::create))
        .route(
            "/schemas/{id}",
            get(schemas::show)
                .patch(schemas::update)
                .delete(schemas::delete),
        )
        .route("/tables", get(tables::list).post(tables::create))
        .route(
            "/tables/{id}",
            get(tables::show)
                .patch(tables::update)
                .delete(tables::delete),
        )
        .route("/tables/{id}/duplicate", post(tables::duplicate))
        .route("/tables/{id}/truncate", post(tables::truncate))
        .route("/columns", get(columns::list).post(columns::create))
        .route(
            "/columns/{id}",
            get(columns::show)
                .patch(columns::update)
                .delete(columns::delete),
        )
        .route("/columns/{id}/type-check", post(columns::check_type))
        .route("/views", get(lists::relations::<View>))
        .route("/views/{id}", get(lists::relation::<View>))
        .route(
            "/materialized-views",
            get(lists::relations::<MaterializedView>),
        )
        .route(
            "/materialized-views/{id}",
            get(lists::relation::<MaterializedView>),
        )
        .route("/foreign-tables", get(lists::relations::<ForeignTable>))
        .route("/foreign-tables/{id}", get(lists::relation::<ForeignTable>))
        .route("/indexes", get(indexes::list).post(indexes::create))
        .route(
            "/indexes/{id}",
            get(indexes::show)
                .patch(indexes::update)
                .delete(indexes::delete),
        )
        .route("/indexes/{id}/rebuild", post(indexes::rebuild))
        .route(
            "/constraints",
            get(constraints::list).post(constraints::create),
        )
        .route(
            "/constraints/{id}",
            get(constraints::show)
                .patch(constraints::update)
                .delete(constraints::delete),
        )
        .route(
            "/functions",
            get(lists::list::<Function>).post(functions::create),
        )
        .route(
            "/functions/{id}",
            get(lists::show::<Function>)
                .patch(functions::update)
                .delete(functions::delete),
        )
        .route(
            "/triggers",
            get(lists::list::<Trigger>).post(triggers::create),
        )
        .route(
            "/triggers/{id}",
            get(lists::show::<Trigger>)
                .patch(triggers::update)
                .delete(triggers::delete),
        )
        .route(
            "/policies",
            get(lists::list::<Policy>).post(policies::create),
        )
        .route(
            "/policies/{id}",
            get(lists::show::<Policy>)
                .patch(policies::update)
                .delete(policies::delete),
        )
        .route("/types", get(types::list).post(types::create))
        .route(
            "/types/{id}",
            get(types::show).patch(types::update).delete(types::delete),
        )
        .route(
            "/extensions",
            get(extensions::list).post(extensions::create),
        )
        .route(
            "/extensions/{name}",
            get(extensions::show)
                .patch(extensions::update)
                .delete(extensions::delete),
        )
        .route(
            "/publications",
            get(lists::list::<Publication>).post(publications::create),
        )
        .route(
            "/publications/{id}",
            get(lists::show::<Publication>)
                .patch(publications::update)
                .delete(publications::delete),
        )
        .route("/roles", get(roles::list).post(roles::create))
        .route(
            "/roles/{id}",
            get(roles::show).patch(roles::update).delete(roles::delete),
        )
        .route(
            "/table-privileges",
            get(privileges::relations)
                .post(privileges::grant_on_relations)
                .delete(privileges::revoke_on_relations),
        )
        .route(
            "/column-privileges",
            get(privileges::columns)
                .post(privileges::grant_on_columns)
                .delete(privileges::revoke_on_columns),
        )
        .route("/config", get(lists::settings))
        .route("/config/version", get(lists::version))
}

/// What goes with an object when it is dropped; ours alone.
fn dependents() -> Router<Platform> {
    Router::new()
        .route("/schemas/{id}/dependents", get(dependents::of_schema))
        .route("/tables/{id}/dependents", get(dependents::of_relation))
        .route("/columns/{id}/dependents", get(dependents::of_column))
        .route("/views/{id}/dependents", get(dependents::of_relation))
        .route(
            "/materialized-views/{id}/dependents",
            get(dependents::of_relation),
        )
        .route("/functions/{id}/dependents", get(dependents::of_function))
        .route("/types/{id}/dependents", get(dependents::of_type))
        .route(
            "/constraints/{id}/dependents",
            get(dependents::of_constraint),
        )
        .route(
            "/extensions/{name}/dependents",
            get(dependents::of_extension),
        )
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> PlatformError {
    PlatformError::NotFound(format!("There is no {method} {}", uri.path()))
}
