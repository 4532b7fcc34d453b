//! The SDK in the name of the user who asks.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use http::request::Parts;
use plinth_client::{Client, ThirdParty};

use super::context;
use crate::rejection::{Problem, SessionRejection};
use crate::session::Session;

/// An SDK client that carries this request's access token: what it reads and writes is what the
/// user may. It never refreshes; the layer has done that already.
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
        // The layer could not have been built with a URL or key that this refuses, but for an
        // empty key.
        client
            .map(Self)
            .map_err(|_| SessionRejection::new(Problem::NoLayer))
    }
}
