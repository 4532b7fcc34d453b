//! Auth and sessions (client contract §1).
//!
//! [`Auth`] is for applications: it stores the user's session, refreshes it and emits events. [`AuthApi`] is the
//! stateless API, for programs that store sessions themselves. [`verify`] and [`JwksCache`] verify tokens.
//! [`AdminClient`] manages users with the service key.

mod admin;
mod api;
mod body;
mod ceremony;
mod claims;
mod engine;
mod error;
mod error_code;
mod handle;
mod identities;
mod jwks;
mod messages;
mod mfa;
mod passkeys;
pub mod pkce;
mod sign_in;
mod update_user;

pub use admin::{
    AdminClient, AdminFactors, AdminPasskeys, AdminUser, CreateUserRequest, CustomProvider,
    CustomProviders, DeleteUserRequest, GenerateLinkRequest, GeneratedLink, InviteRequest,
    LinkType, ListOauthClientsRequest, ListUsersRequest, OauthClient, OauthClientPage,
    OauthClientRequest, OauthClients, ProviderRequest, ProviderType, UpdateUserByIdRequest,
    UserPage, Users,
};
pub(crate) use api::segment as url_segment;
pub use api::{
    API_VERSION, ATTEMPT_TIMEOUT, AuthApi, Challenge, EnrolledFactor, EnrolledTotp, MIN_BACKOFF_MS,
    Passkey, PasskeyOptions, RETRY_BUDGET_MS, Scope, TokenResponse, WeakPassword,
};
pub use claims::{Claims, Decoded};
pub use engine::{
    AuthEvent, AuthEvents, AutoRefresh, BusMessage, REFRESH_COOL_DOWN_MS, REFRESH_THRESHOLD_TICKS,
    SessionBus, SessionRefresher, SignOutReason, TICK_MS, Visibility,
};
pub(crate) use engine::{Engine, Settings, of_page};
pub use error::AuthError;
pub use error_code::ErrorCode;
pub use handle::{Auth, ClaimsRequest};
pub use jwks::{
    FETCH_TIMEOUT, JwksCache, KEY_SET_LIFETIME_MS, KeySet, MAX_KEY_SET_BYTES, MAX_KEYS,
    REFETCH_INTERVAL_MS, STALE_LIFETIME_MS, Verdict, VerifyOptions, verify,
};
pub use messages::{RecoverRequest, Resend, ResendRequest};
pub use mfa::{AssuranceLevel, Factors, Mfa};
pub use passkeys::Passkeys;
pub use pkce::{Flow, FlowType, PendingFlows, RedirectType, TakenVerifier, is_flow_id};
pub use sign_in::{
    AnonymousRequest, Channel, EmailOtp, ExchangeRequest, Exchanged, FromRedirect, IdTokenRequest,
    OAuthRequest, OAuthStart, Otp, OtpRequest, PasswordRequest, PhoneOtp, Provider, SignUp,
    SignUpRequest, SignedIn, Sso, SsoRequest, Verified, VerifyOtpRequest,
};
pub use update_user::UpdateUserRequest;
