//! Which application fetches tokens, and whether it is that one.

use data_encoding::BASE64;
use http::{HeaderMap, header};
use plinth_db::Queries;
use uuid::Uuid;

use super::clients::{self, AuthMethod, Client};
use crate::{AuthError, error::Code};

/// What an application shows of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    id: String,
    secret: String,
    method: AuthMethod,
}

impl Credentials {
    /// A Basic header counts; without one, what the body says.
    pub(super) fn read(headers: &HeaderMap, id: &str, secret: &str) -> Result<Self, AuthError> {
        if let Some(encoded) = basic(headers) {
            return Self::from_basic(encoded)
                .ok_or_else(|| refused("Invalid client credentials: invalid basic auth"));
        }
        if id.is_empty() {
            return Err(refused("Invalid client credentials: client_id is required"));
        }
        Ok(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
            method: match secret.is_empty() {
                true => AuthMethod::None,
                false => AuthMethod::Post,
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

    /// The application, if it showed itself the way it is registered for.
    pub(super) async fn client(&self, db: &mut impl Queries) -> Result<Client, AuthError> {
        let id: Uuid = self
            .id
            .parse()
            .map_err(|_| refused("Invalid client_id format"))?;
        let client = clients::find(db, id).await?;
        let client = client.ok_or_else(|| refused("Invalid client credentials"))?;
        if self.method != client.auth_method {
            return Err(refused(
                "invalid authentication method: the client is registered for another one",
            ));
        }
        let is_proven = match client.is_public {
            true => self.secret.is_empty(),
            false => client.has_secret(&self.secret),
        };
        match is_proven {
            true => Ok(client),
            false => Err(refused("Invalid client credentials")),
        }
    }
}

fn basic(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| encoded.trim())
}

fn refused(message: &'static str) -> AuthError {
    AuthError::new(400, Code::InvalidCredentials, message)
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
    fn the_header_counts_before_the_body() {
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
        fn any_header_is_read_or_refused(text in "[ -~]*") {
            let value = HeaderValue::from_str(&format!("Basic {text}")).expect("ASCII");
            let headers: HeaderMap = [(header::AUTHORIZATION, value)].into_iter().collect();
            let _ = Credentials::read(&headers, "", "");
        }
    }
}
