//! Asking as somebody: a transaction starts from the role that requests start from and takes the
//! asker's within it.
//!
//! That role may become a caller's and nothing else, so a role that a token should not name is
//! refused by PostgreSQL.

use plinth_project::Caller;

/// Takes the asker's role for the rest of a transaction; takes [`texts`].
pub(crate) const BECOME: &str = "select set_config('role', $1, true),
    set_config('request.jwt.claims', $2, true),
    set_config('request.jwt.claim.sub', $3, true),
    set_config('request.jwt.claim.role', $1, true)";

/// Whoever a transaction belongs to before it is somebody's.
pub(crate) fn nobody_yet() -> Caller {
    Caller::of_service("authenticator")
}

/// Role, claims and subject.
pub(crate) fn texts(caller: &Caller) -> [&str; 3] {
    [
        caller.role(),
        caller.claims(),
        caller.sub().unwrap_or_default(),
    ]
}
