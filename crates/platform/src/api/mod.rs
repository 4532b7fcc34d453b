//! The platform API: `/v1` compatible with the Management API, `/platform` our own, `/pg` compatible with
//! postgres-meta (console contract §2). Every call needs an [`Operator`], except the set-up and the acceptance
//! of an invitation, which have tokens of their own, and a project's mailbox, which accepts the project's
//! secret key too.

mod access;
mod activity;
mod api_keys;
mod audit;
mod auth;
mod bearer_jwt;
mod body;
mod body_limits;
mod branches;
mod data;
mod data_export;
mod data_import;
mod databases;
mod detached;
mod entitlements;
mod file_check;
mod functions;
mod health;
mod identity;
mod invitations;
mod jobs;
mod logs;
mod mailbox;
mod management_snippets;
mod me;
mod members;
mod operator;
mod pg;
mod policies;
mod projects;
mod proxy;
mod rate_limit;
mod s3_credentials;
mod secrets;
mod setup;
mod signing_keys;
mod snippets;
mod sql;
mod status;
mod subject;
mod tokens;

use axum::{
    Router,
    extract::{OriginalUri, Request},
    http::Method,
    middleware::{self, Next},
    routing::{any, delete, get, patch, post, put},
};

use crate::{Platform, PlatformError};

pub use access::{Access, Needs, access_table};
pub(crate) use operator::RequestOrigin;
pub use operator::{ControlSocket, Operator};

/// Every route, in the order of the contract.
pub fn routes(platform: Platform) -> Router {
    let limit = rate_limit::RateLimit::new();
    Router::new()
        .nest("/v1", management_routes())
        .nest("/platform", platform_routes())
        .nest("/pg/{ref}", pg::routes())
        .layer(middleware::from_fn(body_limits::set))
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
        .route("/snippets", get(management_snippets::list_all))
        .route("/snippets/{id}", get(management_snippets::show_any))
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
        .route("/setup", get(setup::show).post(setup::create))
        .route("/setup/link", post(setup::link))
        .route("/me", get(me::show))
        .route("/operators/mfa-reset", post(setup::reset_second_factor))
        .route("/members", get(members::list).post(members::add))
        .route(
            "/members/{user}",
            patch(members::update).delete(members::remove),
        )
        .route(
            "/invitations",
            get(invitations::list).post(invitations::create),
        )
        .route("/invitations/show", post(invitations::show))
        .route("/invitations/accept", post(invitations::accept))
        .route("/invitations/{id}", delete(invitations::revoke))
        .route(
            "/organizations/{slug}/members",
            get(members::list).post(members::add),
        )
        .route(
            "/organizations/{slug}/members/{user}",
            patch(members::update).delete(members::remove),
        )
        .route(
            "/organizations/{slug}/invitations",
            get(invitations::list).post(invitations::create),
        )
        .route(
            "/organizations/{slug}/invitations/{id}",
            delete(invitations::revoke),
        )
        .route("/audit", get(audit::list))
        .route("/audit/export", get(audit::export))
        .route("/status", get(status::show))
        .route("/doctor", get(status::doctor))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", delete(tokens::revoke))
        .route("/projects", get(projects::list_with_platform))
        .route("/projects/{ref}", get(projects::show_named))
        .route(
            "/projects/{ref}/members",
            get(members::list).post(members::add),
        )
        .route(
            "/projects/{ref}/members/{user}",
            patch(members::update).delete(members::remove),
        )
        .route(
            "/projects/{ref}/invitations",
            get(invitations::list).post(invitations::create),
        )
        .route(
            "/projects/{ref}/invitations/{id}",
            delete(invitations::revoke),
        )
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
        .route("/projects/{ref}/data/query", post(data::query))
        .route("/projects/{ref}/data/cell", post(data::cell))
        .route("/projects/{ref}/data/count", post(data::count))
        .route("/projects/{ref}/data/insert", post(data::insert))
        .route("/projects/{ref}/data/update", post(data::update))
        .route("/projects/{ref}/data/delete", post(data::delete))
        .route("/projects/{ref}/data/import", post(data_import::import))
        .route(
            "/projects/{ref}/data/import/preview",
            post(data_import::preview),
        )
        .route(
            "/projects/{ref}/data/import/{job}/cancel",
            post(data_import::cancel),
        )
        .route(
            "/projects/{ref}/data/import/{job}/rejects",
            get(data_import::rejects),
        )
        .route("/projects/{ref}/data/export", post(data_export::export))
        .route("/projects/{ref}/sql", post(sql::run))
        .route("/projects/{ref}/sql/{query_id}", delete(sql::cancel))
        .route("/projects/{ref}/sql/explain", post(sql::explain))
        .route("/projects/{ref}/activity", get(activity::list))
        .route(
            "/projects/{ref}/activity/{pid}/cancel",
            post(activity::cancel),
        )
        .route(
            "/projects/{ref}/activity/{pid}/terminate",
            post(activity::terminate),
        )
        .route(
            "/projects/{ref}/snippets",
            get(snippets::list).post(snippets::create),
        )
        .route(
            "/projects/{ref}/snippets/{id}",
            get(snippets::show)
                .patch(snippets::update)
                .delete(snippets::delete),
        )
        .route("/projects/{ref}/policies/test", post(policies::test))
        .route(
            "/projects/{ref}/policies/cases",
            get(policies::list).post(policies::create),
        )
        .route("/projects/{ref}/policies/cases/run", post(policies::run))
        .route(
            "/projects/{ref}/policies/cases/export",
            get(policies::export),
        )
        .route(
            "/projects/{ref}/policies/cases/{id}",
            put(policies::update).delete(policies::delete),
        )
        .route("/projects/{ref}/logs", get(logs::search))
        .route("/projects/{ref}/logs/tail", get(logs::tail))
        .route("/projects/{ref}/auth/users", get(auth::users::search))
        .route("/projects/{ref}/auth/users/{id}", get(auth::users::show))
        .route(
            "/projects/{ref}/auth/users/{id}/sessions",
            get(auth::users::sessions).delete(auth::users::end_sessions),
        )
        .route(
            "/projects/{ref}/auth/users/{id}/sessions/{session}",
            delete(auth::users::end_session),
        )
        .route(
            "/projects/{ref}/auth/users/{id}/audit",
            get(auth::users::audit_log),
        )
        .route(
            "/projects/{ref}/auth/users/{id}/references",
            get(auth::references::list),
        )
        .route(
            "/projects/{ref}/auth/users/{id}/impersonate",
            post(auth::users::impersonate),
        )
        .route(
            "/projects/{ref}/auth/audit",
            get(auth::users::whole_audit_log),
        )
        .route("/projects/{ref}/auth/mail/test", post(auth::trial::mail))
        .route(
            "/projects/{ref}/auth/templates/preview",
            post(auth::trial::template),
        )
        .route(
            "/projects/{ref}/auth/redirect-test",
            post(auth::trial::redirect),
        )
        .route("/projects/{ref}/auth/hooks/test", post(auth::trial::hook))
        .route(
            "/projects/{ref}/auth/hooks/calls",
            get(auth::trial::hook_calls),
        )
        .route("/projects/{ref}/proxy/{service}/v1", any(proxy::call))
        .route("/projects/{ref}/proxy/{service}/v1/", any(proxy::call))
        .route(
            "/projects/{ref}/proxy/{service}/v1/{*path}",
            any(proxy::call),
        )
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
