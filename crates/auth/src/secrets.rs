//! Types that hold passwords, tokens, codes or keys must not be printable: this module does not
//! compile if one of them implements `Debug`.

use std::fmt::Debug;

use crate::{mail, messages, model, oauth, pkce, recover, request, sessions, signup, user, verify};

/// Has one implementation for every type, and another one for those with `Debug`, so that
/// [`is_not_debug`] is ambiguous for the latter.
trait Printable<Marker> {
    fn mark() {}
}

struct Always;
struct WithDebug;

impl<T: ?Sized> Printable<Always> for T {}
impl<T: ?Sized + Debug> Printable<WithDebug> for T {}

macro_rules! is_not_debug {
    ($($type:ty),* $(,)?) => {
        $(<$type as Printable<_>>::mark();)*
    };
}

#[test]
fn types_with_secrets_cannot_be_printed() {
    is_not_debug!(
        mail::TokenMail<'_>,
        mail::EmailChange<'_>,
        mail::Token<'_>,
        messages::Issued,
        model::Factor,
        model::Flow,
        model::NewUser,
        model::Session,
        model::User,
        model::client_states::ClientState,
        model::mfa_challenges::MfaChallenge,
        model::oauth_clients::Client,
        model::oauth_clients::ClientBody,
        model::refresh_tokens::RefreshToken,
        oauth::id_token::IdTokenParams,
        recover::RecoverParams,
        pkce::Challenge,
        request::MetaSecurity,
        sessions::TokenBody,
        signup::SignUpParams,
        user::DeleteParams,
        verify::VerifyParams,
    );
}
