//! Authentication of applications at the token endpoint.

use std::fmt;

use data_encoding::BASE64;
use http::{HeaderMap, header};
use plinth_db::Queries;
use uuid::Uuid;

use crate::{
    AuthError,
    model::oauth_clients::{self, AuthMethod, Client},
};

/// An application's credentials.
#[derive(PartialEq, Eq)]
pub(super) struct Credentials {
    id: String,
    secret: String,
    method: AuthMethod,
}

impl Credentials {
    /// From a Basic header, else from the body.
    pub(super) fn read(headers: &HeaderMap, id: &str, secret: &str) -> Result<Self, AuthError> {
        if let Some(encoded) = basic(headers) {
            return Self::from_basic(encoded).ok_or_else(AuthError::client_basic_auth_malformed);
        }
        if id.is_empty() {
            return Err(AuthError::client_id_missing());
        }
        Ok(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
            method: if secret.is_empty() {
                AuthMethod::None
            } else {
                AuthMethod::Post
            },
        })
    }

    fn from_basic(encoded: &str) -> Option<Self> {
        let bytes = BASE64.decode(encoded.as_bytes()).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (id, secret) = text.split_once(':')?;
        Some(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
            method: AuthMethod::Basic,
        })
    }

    /// The application, if the credentials are right and use its registered method.
    pub(super) async fn authenticate(&self, db: &mut impl Queries) -> Result<Client, AuthError> {
        let id: Uuid = self
            .id
            .parse()
            .map_err(|_| AuthError::client_id_not_uuid())?;
        let client = oauth_clients::find(db, id).await?;
        let client = client.ok_or_else(AuthError::client_credentials_invalid)?;
        if self.method != client.auth_method {
            return Err(AuthError::client_auth_method_mismatch());
        }
        let is_proven = if client.is_public {
            self.secret.is_empty()
        } else {
            client.has_secret(&self.secret)
        };
        if is_proven {
            Ok(client)
        } else {
            Err(AuthError::client_credentials_invalid())
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

fn basic(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| encoded.trim())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn with_basic(text: &str) -> HeaderMap {
        let value = format!("Basic {}", BASE64.encode(text.as_bytes()));
        let value = HeaderValue::from_str(&value).expect("ASCII");
        [(header::AUTHORIZATION, value)].into_iter().collect()
    }

    #[test]
    fn the_header_takes_precedence_over_the_body() {
        let headers = with_basic("one:secret:with colon");

        let read = Credentials::read(&headers, "two", "other").expect("good");

        let expected = Credentials {
            id: "one".to_owned(),
            secret: "secret:with colon".to_owned(),
            method: AuthMethod::Basic,
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn debugging_does_not_print_the_secret() {
        let credentials = Credentials {
            id: "one".to_owned(),
            secret: "hunter2".to_owned(),
            method: AuthMethod::Post,
        };

        let printed = format!("{credentials:?}");

        assert!(printed.contains("one"), "{printed}");
        assert!(!printed.contains("hunter2"), "{printed}");
    }

    #[test]
    fn the_body_says_the_method() {
        let method = |id: &str, secret: &str| {
            let read = Credentials::read(&HeaderMap::new(), id, secret);
            read.ok().map(|it| it.method)
        };
        assert_eq!(method("one", "secret"), Some(AuthMethod::Post));
        assert_eq!(method("one", ""), Some(AuthMethod::None));
        assert_eq!(method("", "secret"), None);
    }

    #[test]
    fn a_broken_header_is_not_passed_over() {
        for text in ["no colon", ""] {
            assert!(Credentials::read(&with_basic(text), "one", "secret").is_err());
        }
        let value = HeaderValue::from_static("Basic ***");
        let headers: HeaderMap = [(header::AUTHORIZATION, value)].into_iter().collect();
        assert!(Credentials::read(&headers, "one", "secret").is_err());
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_rejected(text in "[ -~]*") {
            let value = HeaderValue::from_str(&format!("Basic {text}")).expect("ASCII");
            let headers: HeaderMap = [(header::AUTHORIZATION, value)].into_iter().collect();
            let _ = Credentials::read(&headers, "", "");
        }
    }
}
