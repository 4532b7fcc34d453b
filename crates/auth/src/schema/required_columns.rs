//! Columns that must exist in a schema created by GoTrue.

/// Tables of `auth` with the columns that are read or written, separated by spaces.
pub const REQUIRED_COLUMNS: &[(&str, &str)] = &[
    (
        "users",
        "instance_id id aud role email encrypted_password email_confirmed_at invited_at \
         confirmation_token confirmation_sent_at recovery_token recovery_sent_at \
         email_change_token_new email_change email_change_sent_at last_sign_in_at \
         raw_app_meta_data raw_user_meta_data is_super_admin created_at updated_at phone \
         phone_confirmed_at phone_change phone_change_token phone_change_sent_at confirmed_at \
         email_change_token_current email_change_confirm_status banned_until \
         reauthentication_token reauthentication_sent_at is_sso_user deleted_at is_anonymous",
    ),
    (
        "identities",
        "provider_id user_id identity_data provider last_sign_in_at created_at updated_at \
         email id",
    ),
    (
        "flow_state",
        "id user_id auth_code code_challenge_method code_challenge provider_type \
         provider_access_token provider_refresh_token created_at updated_at \
         authentication_method auth_code_issued_at invite_token referrer \
         oauth_client_state_id linking_target_id email_optional",
    ),
    (
        "oauth_client_states",
        "id provider_type code_verifier created_at",
    ),
    (
        "oauth_clients",
        "id client_secret_hash registration_type redirect_uris grant_types client_name \
         client_uri logo_uri created_at updated_at deleted_at client_type \
         token_endpoint_auth_method",
    ),
    (
        "oauth_authorizations",
        "id authorization_id client_id user_id redirect_uri scope state resource \
         code_challenge code_challenge_method response_type status authorization_code \
         created_at expires_at approved_at nonce",
    ),
    (
        "oauth_consents",
        "id user_id client_id scopes granted_at revoked_at",
    ),
    (
        "sessions",
        "id user_id created_at updated_at factor_id aal not_after refreshed_at user_agent ip \
         tag oauth_client_id refresh_token_hmac_key refresh_token_counter scopes",
    ),
    (
        "refresh_tokens",
        "instance_id id token user_id revoked created_at updated_at parent session_id",
    ),
    (
        "one_time_tokens",
        "id user_id token_type token_hash relates_to created_at updated_at",
    ),
    (
        "mfa_factors",
        "id user_id friendly_name factor_type status created_at updated_at secret phone \
         last_challenged_at web_authn_credential web_authn_aaguid \
         last_webauthn_challenge_data",
    ),
    (
        "mfa_challenges",
        "id factor_id created_at verified_at ip_address otp_code web_authn_session_data",
    ),
    (
        "mfa_amr_claims",
        "session_id created_at updated_at authentication_method id",
    ),
    (
        "saml_relay_states",
        "id sso_provider_id request_id for_email redirect_to created_at updated_at \
         flow_state_id",
    ),
    (
        "custom_oauth_providers",
        "id provider_type identifier name client_id client_secret acceptable_client_ids \
         scopes pkce_enabled attribute_mapping authorization_params enabled email_optional \
         issuer discovery_url skip_nonce_check cached_discovery discovery_cached_at \
         authorization_url token_url userinfo_url jwks_uri created_at updated_at \
         custom_claims_allowlist",
    ),
    (
        "webauthn_credentials",
        "id user_id credential_id public_key attestation_type aaguid sign_count transports \
         backup_eligible backed_up friendly_name created_at updated_at last_used_at",
    ),
    (
        "webauthn_challenges",
        "id user_id challenge_type session_data created_at expires_at",
    ),
    (
        "audit_log_entries",
        "instance_id id payload created_at ip_address",
    ),
];
