//! An SDK client that acts as the current user.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use http::request::Parts;
use plinth_client::{Client, ThirdParty};

use super::context;
use crate::rejection::{Problem, SessionRejection};
use crate::session::Session;

/// An SDK client with this request's access token: the user's permissions apply. It never refreshes; the
/// layer has done that already.
///
/// To sign in, or to change the user or the session, take
/// [`SessionWriter::client`](crate::SessionWriter::client).
#[derive(Clone, Debug)]
pub struct UserClient(pub Client<ThirdParty>);

impl Deref for UserClient {
    type Target = Client<ThirdParty>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for UserClient {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let session = <Session as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let give = move || {
            let token = session.access_token().expose().to_owned();
            async move { Some(token) }
        };
        let client = context(parts)?.config().client().access_token(give);
        // The layer was built with the same URL and key; only an empty key fails here.
        client
            .map(Self)
            .map_err(|_| SessionRejection::new(Problem::NoLayer))
    }
}
