//! Queries in a caller's role: a transaction starts as `authenticator`, the role that all requests
//! start from, and takes the caller's role and claims inside.
//!
//! `authenticator` may only assume roles of callers, so PostgreSQL rejects any other role that a
//! token may name.

use plinth_project::Caller;

/// Sets role and claims for the rest of the transaction; its parameters are
/// [`role_and_claims`].
pub(crate) const SET_ROLE_AND_CLAIMS: &str = "select set_config('role', $1, true),
    set_config('request.jwt.claims', $2, true),
    set_config('request.jwt.claim.sub', $3, true),
    set_config('request.jwt.claim.role', $1, true)";

/// The role in which a transaction starts.
pub(crate) fn authenticator() -> Caller {
    Caller::for_service("authenticator")
}

/// Role, claims and subject.
pub(crate) fn role_and_claims(caller: &Caller) -> [&str; 3] {
    [
        caller.role(),
        caller.claims(),
        caller.sub().unwrap_or_default(),
    ]
}
