//! The client of one project and its signed-in user.

mod builder;
mod token;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use crate::auth::{Auth, AuthError};
use crate::http::Http;
use crate::project_url::ProjectUrl;
pub use builder::ClientBuilder;
pub use token::{ThirdParty, TokenSource};

/// A client of a project with the session of its user. Cheap to clone; clones share the session.
///
/// `Client<ThirdParty>`, for users of a third-party auth service, has no [`Client::auth`].
#[derive(Clone)]
pub struct Client<A = Auth> {
    pub(crate) base: Arc<Base>,
    pub(crate) tokens: Arc<dyn TokenSource>,
    #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
    pub(crate) realtime: crate::realtime::Realtime,
    auth: A,
}

/// State shared by all parts of a client.
pub(crate) struct Base {
    pub(crate) url: ProjectUrl,
    pub(crate) key: String,
    pub(crate) headers: HeaderMap,
    pub(crate) http: Http,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: bool,
    pub(crate) schema: Option<String>,
}

impl Client {
    /// A client of the project at this URL, with its anonymous (publishable) key. The session is kept in
    /// memory; [`Client::builder`] offers other stores.
    pub fn new(project_url: &str, key: &str) -> Result<Self, AuthError> {
        Self::builder(project_url, key).build()
    }

    /// A client configured by the environment: `SUPABASE_URL`, and `SUPABASE_PUBLISHABLE_KEY` or else
    /// `SUPABASE_ANON_KEY`.
    pub fn from_env() -> Result<Self, AuthError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self::from_variables(variable)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, AuthError> {
        let url = variable("SUPABASE_URL");
        let url = url.ok_or(AuthError::InvalidInput("SUPABASE_URL is not set"))?;
        let key = variable("SUPABASE_PUBLISHABLE_KEY").or_else(|| variable("SUPABASE_ANON_KEY"));
        let key = key.ok_or(AuthError::InvalidInput(
            "Neither SUPABASE_PUBLISHABLE_KEY nor SUPABASE_ANON_KEY is set",
        ))?;
        Self::new(&url, &key)
    }

    /// Configures a client.
    pub fn builder(project_url: &str, key: &str) -> ClientBuilder {
        ClientBuilder::new(project_url, key)
    }

    /// Accounts and sessions.
    pub fn auth(&self) -> &Auth {
        &self.auth
    }
}

impl<A> Client<A> {
    /// The project's URL.
    pub fn project_url(&self) -> &ProjectUrl {
        &self.base.url
    }
}

/// The URL only: the key stays out of logs.
impl<A> fmt::Debug for Client<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut client = formatter.debug_struct("Client");
        client.field("url", &self.base.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<Client, AuthError> {
        Client::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_names_the_project_and_the_publishable_key_wins() {
        let url = ("SUPABASE_URL", "http://localhost:54321");
        let key = ("SUPABASE_PUBLISHABLE_KEY", "sb_publishable_a");
        let old = ("SUPABASE_ANON_KEY", "old");

        assert_eq!(from(&[url, key, old]).unwrap().base.key, "sb_publishable_a");
        assert_eq!(from(&[url, old]).unwrap().base.key, "old");
        assert!(
            from(&[url])
                .unwrap_err()
                .to_string()
                .contains("SUPABASE_ANON_KEY")
        );
        assert!(
            from(&[key])
                .unwrap_err()
                .to_string()
                .contains("SUPABASE_URL")
        );
    }

    #[test]
    fn clients_can_be_shared_and_show_no_key() {
        fn shared<T: Clone + Send + Sync + 'static>(value: T) -> T {
            value
        }

        let client = shared(Client::new("http://localhost:54321", "very-secret").unwrap());

        assert!(!format!("{client:?}").contains("secret"));
    }

    #[test]
    fn urls_and_keys_that_cannot_be_used_are_rejected() {
        assert!(Client::new("localhost", "k").is_err());
        assert!(Client::new("http://localhost", "").is_err());
        assert!(Client::new("http://localhost", "a\nb").is_err());
    }
}
