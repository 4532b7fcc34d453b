//! The platform API: `/v1` compatible with the Management API, `/platform` our own (console
//! contract §2). Every call needs an [`Operator`], except those to a project's mailbox, which accept
//! the project's secret key too.

mod advisors;
mod api_keys;
mod bearer_jwt;
mod body;
mod branch_review_body;
mod branch_reviews;
mod branches;
mod databases;
mod detached;
mod entitlements;
mod file_check;
mod functions;
mod health;
mod identity;
mod jobs;
mod logs;
mod mailbox;
mod operator;

mod projects;
mod rate_limit;
mod s3_credentials;
mod scopes;
mod secrets;
mod signing_keys;
mod status;
mod tokens;

use axum::{
    Router,
    extract::{OriginalUri, Request},
    http::Method,
    middleware::{self, Next},
    routing::{delete, get, patch, post},
};

use crate::{Platform, PlatformError};

pub use operator::{ControlSocket, Operator};

/// Every route, in the order of the contract.
pub fn routes(platform: Platform) -> Router {
    let limit = rate_limit::RateLimit::new();
    Router::new()
        .nest("/v1", management_routes())
        .nest("/platform", platform_routes())
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
        .route("/branches/{id}/diff", get(branch_reviews::diff))
        .route("/branches/{id}/merge", post(branch_reviews::merge_by_id))
        .route("/branches/{id}/push", post(branch_reviews::push))
        .route("/branches/{id}/reset", post(branch_reviews::reset))
        .route("/projects/{ref}/advisors/security", get(advisors::security))
        .route(
            "/projects/{ref}/advisors/performance",
            get(advisors::performance),
        )
        .route(
            "/projects/{ref}/database/migrations",
            get(databases::history).post(databases::apply_query),
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

/// `/platform`.
fn platform_routes() -> Router<Platform> {
    Router::new()
        .route("/status", get(status::show))
        .route("/doctor", get(status::doctor))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", delete(tokens::revoke))
        .route("/projects", get(projects::list_with_platform))
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
            "/projects/{ref}/branches/{name}/review",
            get(branch_reviews::review),
        )
        .route(
            "/projects/{ref}/branches/{name}/merge",
            post(branch_reviews::merge),
        )
        .route(
            "/projects/{ref}/branches/{name}/rebase",
            post(branch_reviews::rebase),
        )
        .route("/projects/{ref}/advisors", get(advisors::show))
        .route("/projects/{ref}/advisors/history", get(advisors::history))
        .route(
            "/projects/{ref}/advisors/ignores",
            get(advisors::list_ignores).post(advisors::create_ignore),
        )
        .route(
            "/projects/{ref}/advisors/ignores/{id}",
            patch(advisors::update_ignore).delete(advisors::delete_ignore),
        )
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
        .route("/projects/{ref}/logs", get(logs::search))
        .route("/projects/{ref}/logs/tail", get(logs::tail))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
}

/// A route of the Management API that Plinth does not have (F21).
async fn not_available(method: Method, OriginalUri(uri): OriginalUri) -> PlatformError {
    PlatformError::NotAvailable(format!("{method} {}", uri.path()))
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> PlatformError {
    PlatformError::NotFound(format!("There is no {method} {}", uri.path()))
}
