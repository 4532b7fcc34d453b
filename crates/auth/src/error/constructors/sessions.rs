//! Credentials of a request: API keys, access tokens, refresh tokens, authorization codes.

use std::fmt::Display;

use super::{AuthError, Code, errors, internal_errors};

errors! {
    missing_api_key() => 401 NoAuthorization, "No API key found in request";
    missing_bearer_token() => 401 NoAuthorization, "This endpoint requires a valid Bearer token";
    /// The session belongs to an OAuth application.
    application_not_allowed() => 403 NoAuthorization,
        "Applications cannot do this in place of their user";
    /// The token is an operator's, in place of a user.
    impersonation_not_allowed() => 403 NoAuthorization,
        "Operators cannot do this in place of a user";
    admin_role_required() => 403 NotAdmin, "User not allowed";
    invalid_jwt(reason: &dyn Display) => 403 BadJwt,
        format!("invalid JWT: unable to parse or verify signature, {reason}");
    missing_sub_claim() => 403 BadJwt, "invalid claim: missing sub claim";
    sub_claim_not_uuid() => 400 BadJwt, "invalid claim: sub claim must be a UUID";
    session_claim_not_uuid() => 403 BadJwt, "invalid claim: session_id claim must be a UUID";
    missing_role_claim() => 403 BadJwt, "invalid claim: missing role claim";
    user_of_token_not_found() => 403 UserNotFound, "User from sub claim in JWT does not exist";
    session_of_token_not_found() => 403 SessionNotFound,
        "Session from session_id claim in JWT does not exist";

    /// At `/user/sessions/{id}`.
    own_session_not_found() => 404 ValidationFailed, "No such session";
    aal2_required() => 403 InsufficientAal, AAL2_REQUIRED;
    /// At `PUT /user`.
    /// supabase-js ignores 401, 403 and 404 of `/logout`.
    aal2_required_to_sign_out_others() => 422 InsufficientAal,
        "AAL2 session is required to sign out other sessions when MFA is enabled.";
    aal2_required_to_update() => 401 InsufficientAal, AAL2_REQUIRED;

    refresh_token_malformed() => 400 ValidationFailed, "Refresh token is not valid";
    refresh_token_not_found() => 400 RefreshTokenNotFound,
        "Invalid Refresh Token: Refresh Token Not Found";
    refresh_token_already_used() => 400 RefreshTokenAlreadyUsed,
        "Invalid Refresh Token: Already Used";
    refresh_token_without_session() => 400 SessionNotFound,
        "Invalid Refresh Token: No Valid Session Found";
    user_banned_on_refresh() => 400 UserBanned, "Invalid Refresh Token: User Banned";
    session_expired(reason: &str) => 400 SessionExpired, session_expired_text(reason);
    /// The access token of an administrator whose session has ended.
    admin_session_expired(reason: &str) => 403 SessionExpired, session_expired_text(reason);
    /// A status below 500 would end the client's session (client contract S93).
    too_many_concurrent_refreshes() => 503 Conflict,
        "Too many concurrent token refresh requests on the same session or refresh token";

    unsupported_grant_type() => 400 InvalidCredentials, "unsupported_grant_type";
    flow_state_not_found() => 404 FlowStateNotFound,
        "invalid flow state, no valid flow state found";
    /// At the link of a mail that began a PKCE flow.
    mail_flow_state_not_found() => 400 FlowStateNotFound, "No associated flow state found";
    flow_state_expired() => 422 FlowStateExpired, "invalid flow state, flow state has expired";
    flow_state_already_used() => 400 FlowStateAlreadyUsed, "State has already been used";
    bad_code_verifier() => 400 BadCodeVerifier,
        "code challenge does not match previously saved code verifier";
}

internal_errors! {
    signing_token_failed => "error generating jwt token";
}

const AAL2_REQUIRED: &str =
    "AAL2 session is required to update email, phone or password when MFA is enabled.";

fn session_expired_text(reason: &str) -> String {
    format!("Invalid Refresh Token: Session Expired{reason}")
}
