//! The platform API: `/v1` compatible with the Management API, `/platform` our own (console
//! contract §2). Every call needs an [`Operator`], except those to a project's mailbox, which accept
//! the project's secret key too.

mod api_keys;
mod bearer_jwt;
mod body;
mod branches;
mod config;
mod databases;
mod detached;
mod entitlements;
mod events;
mod file_check;
mod functions;
mod health;
mod identity;
mod jobs;
mod logs;
mod mailbox;
mod openapi;
mod operator;

mod projects;
mod rate_limit;
mod reports;
mod s3_credentials;
mod scopes;
mod search;
mod secrets;
mod service_config;
mod signing_keys;
mod status;
mod summary;
mod tokens;

use axum::{
    Router,
    extract::{OriginalUri, Request},
    http::Method,
    middleware::{self, Next},
    routing::{get, patch, post},
};

use crate::{Platform, PlatformError};

pub use openapi::document as openapi_document;
pub use operator::{ControlSocket, Operator};

/// Every route, in the order of the contract.
pub fn routes(platform: Platform) -> Router {
    let limit = rate_limit::RateLimit::new();
    Router::new()
        .nest("/v1", management_routes())
        .nest("/platform", platform_router())
        .layer(middleware::from_fn_with_state(
            platform.clone(),
            detached::run_detached,
        ))
        .layer(middleware::from_fn(move |request: Request, next: Next| {
            rate_limit::limit(limit.clone(), request, next)
        }))
        .with_state(platform)
}

/// `/v1`.
fn management_routes() -> Router<Platform> {
    Router::new()
        .route("/profile", get(identity::profile))
        .route(
            "/organizations",
            get(identity::organizations).post(identity::create_organization),
        )
        .route("/organizations/{slug}", get(identity::organization))
        .route(
            "/organizations/{slug}/entitlements",
            get(entitlements::list),
        )
        .route("/organizations/{slug}/members", get(identity::members))
        .route("/projects", get(projects::list).post(projects::create))
        .route(
            "/projects/{ref}",
            get(projects::show)
                .patch(projects::rename)
                .delete(projects::delete),
        )
        .route("/projects/{ref}/pause", post(projects::pause))
        .route("/projects/{ref}/restore", post(projects::resume))
        .route("/projects/{ref}/health", get(health::health))
        .route("/projects/{ref}/billing/addons", get(identity::addons))
        .route(
            "/projects/{ref}/network-bans/retrieve",
            post(identity::network_bans),
        )
        .route(
            "/projects/{ref}/api-keys",
            get(api_keys::list).post(api_keys::create),
        )
        .route(
            "/projects/{ref}/api-keys/legacy",
            get(api_keys::legacy).put(api_keys::set_legacy),
        )
        .route(
            "/projects/{ref}/api-keys/{id}",
            get(api_keys::show)
                .patch(api_keys::update)
                .delete(api_keys::revoke),
        )
        .route(
            "/projects/{ref}/config/auth/signing-keys",
            get(signing_keys::list).post(signing_keys::create),
        )
        .route(
            "/projects/{ref}/config/auth/signing-keys/{id}",
            get(signing_keys::show)
                .patch(signing_keys::update)
                .delete(signing_keys::revoke),
        )
        .route(
            "/projects/{ref}/functions",
            get(functions::list)
                .post(functions::create)
                .put(functions::activate),
        )
        .route(
            "/projects/{ref}/functions/{slug}",
            get(functions::show)
                .post(functions::deploy)
                .patch(functions::update)
                .delete(functions::delete),
        )
        .route(
            "/projects/{ref}/functions/{slug}/body",
            get(functions::download),
        )
        .route(
            "/projects/{ref}/secrets",
            get(secrets::list)
                .post(secrets::set)
                .delete(secrets::delete),
        )
        .route(
            "/projects/{ref}/branches",
            get(branches::list).post(branches::create),
        )
        .route(
            "/projects/{ref}/branches/{name}",
            get(branches::show_by_name),
        )
        .route(
            "/branches/{id}",
            get(branches::show)
                .patch(branches::update)
                .delete(branches::delete),
        )
        .route(
            "/projects/{ref}/database/migrations",
            get(databases::history).post(databases::apply_query),
        )
        .route(
            "/projects/{ref}/postgrest",
            get(service_config::show_rest).patch(service_config::change_rest),
        )
        .route(
            "/projects/{ref}/config/storage",
            get(service_config::show_storage).patch(service_config::change_storage),
        )
        .route(
            "/projects/{ref}/config/auth",
            get(service_config::show_auth).patch(service_config::change_auth),
        )
        .route(
            "/projects/{ref}/config/database/pooler",
            get(databases::pooler),
        )
        .route(
            "/projects/{ref}/database/password",
            patch(databases::set_password),
        )
        .fallback(not_available)
        .method_not_allowed_fallback(not_available)
}

/// `/platform`, with its answer to unknown paths.
fn platform_router() -> Router<Platform> {
    let router = platform_routes().into_router();
    router
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
}

/// `/platform`. Each route is part of the OpenAPI document.
fn platform_routes() -> openapi::Routes {
    use openapi::routing::{delete, get, patch, post};

    openapi::Routes::new()
        .route("/openapi.json", get(openapi::show))
        .route("/status", get(status::show))
        .route("/doctor", get(status::doctor))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/events", get(events::stream))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", delete(tokens::revoke))
        .route("/projects", get(projects::list_with_platform))
        .route("/projects/summary", get(summary::show))
        .route("/projects/{ref}", get(projects::show_named))
        .route("/projects/{ref}/keys/rotate", post(api_keys::rotate))
        .route("/projects/{ref}/bearer-jwt", post(bearer_jwt::create))
        .route("/projects/{ref}/database", get(databases::show))
        .route(
            "/projects/{ref}/database/password",
            patch(databases::set_password),
        )
        .route("/projects/{ref}/database/reset", post(databases::reset))
        .route(
            "/projects/{ref}/migrations",
            get(databases::history).post(databases::apply_file),
        )
        .route("/projects/{ref}/seed", post(databases::seed))
        .route(
            "/projects/{ref}/functions/{slug}/versions",
            get(functions::versions),
        )
        .route(
            "/projects/{ref}/functions/{slug}/rollback",
            post(functions::roll_back),
        )
        .route(
            "/projects/{ref}/storage/credentials",
            get(s3_credentials::list).post(s3_credentials::create),
        )
        .route(
            "/projects/{ref}/storage/credentials/{id}",
            delete(s3_credentials::delete),
        )
        .route("/projects/{ref}/storage/check", post(file_check::check))
        .route(
            "/projects/{ref}/mailbox",
            get(mailbox::list).delete(mailbox::clear),
        )
        .route(
            "/projects/{ref}/mailbox/{id}",
            get(mailbox::show).delete(mailbox::delete),
        )
        .route(
            "/projects/{ref}/config",
            get(config::show).patch(config::change),
        )
        .route(
            "/projects/{ref}/config.toml",
            get(config::show_file).put(config::replace_file),
        )
        .route("/projects/{ref}/search", get(search::search))
        .route("/projects/{ref}/overview", get(reports::overview))
        .route("/projects/{ref}/metrics/query", get(reports::metrics))
        .route("/projects/{ref}/queries", get(reports::queries))
        .route("/projects/{ref}/reports/database", get(reports::database))
        .route("/projects/{ref}/logs", get(logs::search))
        .route("/projects/{ref}/logs/tail", get(logs::tail))
        .route("/projects/{ref}/logs/histogram", get(logs::histogram))
        .route("/projects/{ref}/logs/context", get(logs::context))
        .route("/projects/{ref}/logs/requests/{id}", get(logs::request))
        .route("/projects/{ref}/logs/export", get(logs::export))
        .route("/projects/{ref}/logs/sources", get(logs::sources))
}

/// A route of the Management API that Plinth does not have (F21).
async fn not_available(method: Method, OriginalUri(uri): OriginalUri) -> PlatformError {
    PlatformError::NotAvailable(format!("{method} {}", uri.path()))
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> PlatformError {
    PlatformError::NotFound(format!("There is no {method} {}", uri.path()))
}
