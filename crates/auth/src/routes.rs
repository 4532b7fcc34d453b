//! All routes, in the order of the wire contract.

use axum::{
    Router,
    handler::Handler,
    http::StatusCode,
    middleware,
    routing::{MethodRouter, any, delete, get, patch, post, put},
};

use crate::{
    AuthError, AuthService, admin, caller::require_api_key, error::render_errors, logout::logout,
    mfa, oauth, oauth::custom::admin as custom, oauth_server, otp, passkeys, recover,
    request::limit_time, signup::sign_up, system, token::token, user, verify,
};

/// The router; one service serves all projects.
pub fn routes(service: AuthService) -> Router {
    let key = middleware::from_fn_with_state(service.clone(), require_api_key);
    public_routes()
        .merge(keyed_routes().layer(key))
        .fallback(async || AuthError::route_not_found())
        .method_not_allowed_fallback(async || AuthError::method_not_allowed())
        .layer(middleware::from_fn_with_state(service.clone(), limit_time))
        .layer(middleware::from_fn(render_errors))
        .layer(middleware::from_fn(system::cors))
        .with_state(service)
}

/// Routes without an API key.
fn public_routes() -> Router<AuthService> {
    Router::new()
        .route("/health", get(system::health))
        .route("/.well-known/jwks.json", get(system::jwks))
        .route(
            "/.well-known/openid-configuration",
            get(system::openid_configuration),
        )
        .route(
            "/.well-known/oauth-authorization-server",
            get(system::authorization_server),
        )
        .route("/sso/saml/metadata", get(system::saml))
        .route("/sso/saml/acs", post(system::saml))
        .route("/scim/v2/{*path}", get(system::scim))
        .route("/verify", get_without_head(verify::verify_link))
        .route("/authorize", get_without_head(oauth::authorize))
        .route(
            "/callback",
            get_without_head(oauth::callback).post(oauth::callback),
        )
        .route("/oauth/clients/register", post(oauth_server::register))
        .route(
            "/oauth/authorize",
            get_without_head(oauth_server::authorize),
        )
        .route("/oauth/token", post(oauth_server::token))
}

/// A GET route with side effects. HEAD is not routed: mail scanners send it to links, which would
/// consume the token.
fn get_without_head<H, T>(handler: H) -> MethodRouter<AuthService>
where
    H: Handler<T, AuthService>,
    T: 'static,
{
    get(handler).head(async || StatusCode::OK)
}

/// Routes that require an API key; handlers check for a user or an admin.
fn keyed_routes() -> Router<AuthService> {
    Router::new()
        .route("/settings", get(system::settings))
        .route("/signup", post(sign_up))
        .route("/token", post(token))
        .route("/otp", post(otp::otp))
        .route("/magiclink", post(otp::magic_link))
        .route("/verify", post(verify::verify))
        .route("/recover", post(recover::recover))
        .route("/resend", post(recover::resend))
        .route("/reauthenticate", get_without_head(recover::reauthenticate))
        .route(
            "/user",
            get(user::get).put(user::update).delete(user::delete),
        )
        .route("/user/sessions", get(user::list_sessions))
        .route("/user/sessions/{id}", delete(user::end_session))
        .route("/logout", post(logout))
        .route("/user/identities/authorize", get_without_head(oauth::link))
        .route("/user/identities/{identity_id}", delete(oauth::unlink))
        .route("/factors", post(mfa::enrol))
        .route("/factors/{id}/challenge", post(mfa::challenge))
        .route("/factors/{id}/verify", post(mfa::verify))
        .route("/factors/{id}", delete(mfa::remove))
        .merge(passkey_routes())
        .route("/sso", post(system::saml))
        .route("/invite", post(admin::invite))
        .route("/admin/users", get(admin::list).post(admin::create))
        .route(
            "/admin/users/{user_id}",
            get(admin::read).put(admin::update).delete(admin::delete),
        )
        .route("/admin/users/{user_id}/factors", get(mfa::admin::list))
        .route(
            "/admin/users/{user_id}/factors/{id}",
            put(mfa::admin::update).delete(mfa::admin::delete),
        )
        .route(
            "/admin/users/{user_id}/passkeys",
            get(passkeys::admin::list),
        )
        .route(
            "/admin/users/{user_id}/passkeys/{id}",
            delete(passkeys::admin::delete),
        )
        .route("/admin/generate_link", post(admin::generate_link))
        .route("/admin/audit", get(admin::list_audit_log))
        .route(
            "/admin/sso/providers",
            any(system::saml_for_admins).get(system::list_sso_providers),
        )
        .route("/admin/sso/providers/{id}", any(system::saml_for_admins))
        .route(
            "/admin/oauth/clients",
            get(oauth_server::list_clients).post(oauth_server::create_client),
        )
        .route(
            "/admin/oauth/clients/{client_id}",
            get(oauth_server::read_client)
                .put(oauth_server::update_client)
                .delete(oauth_server::delete_client),
        )
        .route(
            "/admin/oauth/clients/{client_id}/regenerate_secret",
            post(oauth_server::regenerate_secret),
        )
        .route("/oauth/userinfo", get(oauth_server::userinfo))
        .route(
            "/oauth/authorizations/{authorization_id}",
            get_without_head(oauth_server::show),
        )
        .route(
            "/oauth/authorizations/{authorization_id}/consent",
            post(oauth_server::decide),
        )
        .route(
            "/user/oauth/grants",
            get(oauth_server::list_grants).delete(oauth_server::revoke_grant),
        )
        .route(
            "/admin/custom-providers",
            get(custom::list).post(custom::create),
        )
        .route(
            "/admin/custom-providers/{identifier}",
            get(custom::show).put(custom::update).delete(custom::delete),
        )
}

fn passkey_routes() -> Router<AuthService> {
    let authentication = Router::new()
        .route("/options", post(passkeys::authentication_options))
        .route("/verify", post(passkeys::authentication_verify));
    let registration = Router::new()
        .route("/options", post(passkeys::registration_options))
        .route("/verify", post(passkeys::registration_verify));
    Router::new()
        .nest("/passkeys/authentication", authentication)
        .nest("/passkeys/registration", registration)
        .route("/passkeys", get(passkeys::list))
        .route(
            "/passkeys/{id}",
            patch(passkeys::rename).delete(passkeys::delete),
        )
}
