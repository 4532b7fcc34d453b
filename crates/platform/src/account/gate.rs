//! Who asks for a page: the session in their cookies, verified and kept fresh (client contract U2).
//!
//! The auth service is asked as a browser would ask it, but through its router instead of the
//! network. It decides about sessions, here as everywhere.

use std::{convert::Infallible, future::Future, pin::Pin, sync::Arc, task};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, OriginalUri},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Uri, header};
use http_body_util::Full;
use moka::sync::Cache;
use plinth_client::{
    AuthError, Clock, Factor, Http, ProjectUrl, SystemClock,
    auth::{AuthApi, JwksCache, KeySet},
};
use plinth_project::{ClientAddress, Credentials, Project, ProjectRef, PublicUrl, RequestId};
use plinth_session::{ConfigError, Session, SessionLayer, SessionState, cookie::Cookies};
use tower::Service;

use super::page::Site;

/// Projects whose keys are remembered.
const MAX_PROJECTS: u64 = 10_000;

/// What every request to the auth service has in front of its path.
const AUTH: &str = "/auth/v1";

/// Who asks, as far as it decides where they are led. It is no permission: the page is the same for
/// everybody and holds nothing but settings. What it shows of an account it asks the auth service
/// for, which believes verified tokens only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    /// Nobody is signed in.
    Guest,
    /// Somebody whose session was ended elsewhere. Their cookies still say otherwise.
    Ended,
    /// A user who has a second factor and has not shown it.
    HalfWay,
    /// Somebody with cookies of a session that has not ended. Nearly always a user. Also whoever
    /// cannot be judged here (another role than the usual one, the database is away), and whoever
    /// has made up a cookie: the sign-in page sees the same cookies and would send them back here,
    /// round and round.
    Holder,
}

/// Makes the layer that looks at cookies.
#[derive(Clone)]
pub(super) struct Gate {
    auth: Router,
    keys: Cache<ProjectRef, Arc<JwksCache>>,
}

impl Gate {
    pub(super) fn new(auth: Router) -> Self {
        Self {
            auth,
            keys: Cache::new(MAX_PROJECTS),
        }
    }

    /// What looks at one request to the pages of a project.
    pub(super) fn keeper(
        &self,
        project: &Project,
        site: &Site,
        key: &str,
        asked: &Request<Body>,
    ) -> Result<Keeper, ConfigError> {
        let reference = project.reference().clone();
        let keys = project.keys();
        let keys = self.keys.get_with(reference, || at_hand(&keys.keyset));
        let known = asked.extensions();
        let http = Http::with_service(AuthInside {
            auth: self.auth.clone(),
            project: project.clone(),
            public_url: known.get().cloned(),
            client: known.get().copied(),
            id: known.get().cloned(),
            user_agent: asked.headers().get(header::USER_AGENT).cloned(),
        });
        let layer = SessionLayer::builder(site.project_url.as_str(), key)
            .cookie_name(site.storage_key.as_str())
            .public_url(site.project_url.as_str())
            // A project may be known by several addresses; its keys are its own.
            .any_issuer()
            // The page itself writes the same cookies to the same browser.
            .allow_insecure(true)
            .jwks(keys)
            .http(http.clone())
            .build()?;
        let api = ProjectUrl::parse(&site.project_url)
            .ok()
            .map(|url| AuthApi::new(&url, key, http));
        Ok(Keeper {
            layer,
            api,
            storage_key: site.storage_key.clone(),
        })
    }
}

/// The project's keys are in memory already; nobody has to wait for the first fetch of them.
fn at_hand(keys: &plinth_token::KeySet) -> Arc<JwksCache> {
    let published = KeySet::from_json(&keys.jwks().to_string());
    Arc::new(published.map_or_else(
        |_| JwksCache::new(),
        |keys| JwksCache::with_keys(keys, SystemClock.now_ms()),
    ))
}

/// Looks at one request.
#[derive(Clone)]
pub(super) struct Keeper {
    pub(super) layer: SessionLayer,
    api: Option<AuthApi>,
    storage_key: String,
}

impl Keeper {
    /// Who asks, by what the layer found out and what the auth service knows of them.
    pub(super) async fn visitor(&self, state: &SessionState, headers: &HeaderMap) -> Visitor {
        match (state.session(), &self.api) {
            (Some(session), Some(api)) => known_to_the_service(session, api).await,
            _ => visitor(state, &self.storage_key, headers),
        }
    }
}

/// Whether a session is still one, and whether somebody with one step behind them has another
/// before them. The cookie says which factors there are, but the cookie is theirs.
async fn known_to_the_service(session: &Session, api: &AuthApi) -> Visitor {
    match api.user(session.access_token().expose()).await {
        Ok(user) if !session.is_aal2() && user.factors().iter().any(Factor::is_verified) => {
            Visitor::HalfWay
        }
        Err(AuthError::SessionMissing) => Visitor::Ended,
        Ok(_) | Err(_) => Visitor::Holder,
    }
}

/// By the cookies alone. The layer has taken cookies of sessions that have ended out of the request.
fn visitor(state: &SessionState, storage_key: &str, headers: &HeaderMap) -> Visitor {
    let has_cookies = || {
        let mut lines = headers.get_all(header::COOKIE).iter();
        lines.any(|line| {
            let line = line.to_str().unwrap_or_default();
            let cookies = Cookies::parse_starting_with(line, storage_key);
            cookies.has_any_of(storage_key)
        })
    };
    match state {
        SessionState::SignedIn(_) => Visitor::Holder,
        _ if has_cookies() => Visitor::Holder,
        _ => Visitor::Guest,
    }
}

/// The auth service of a project, as the edge would call it.
#[derive(Clone)]
struct AuthInside {
    auth: Router,
    project: Project,
    public_url: Option<PublicUrl>,
    client: Option<ClientAddress>,
    id: Option<RequestId>,
    /// A session is known to its user by the device that it is on.
    user_agent: Option<HeaderValue>,
}

impl Service<Request<Full<Bytes>>> for AuthInside {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> task::Poll<Result<(), Infallible>> {
        task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let mut request = request.map(Body::new);
        let original = std::mem::take(request.uri_mut());
        *request.uri_mut() = below_auth(&original);
        if let Some(user_agent) = &self.user_agent {
            let headers = request.headers_mut();
            headers.insert(header::USER_AGENT, user_agent.clone());
        }
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        let credentials = Credentials::read(&self.project, request.headers(), None, now);
        let extensions = request.extensions_mut();
        extensions.insert(credentials.caller());
        extensions.insert(credentials);
        extensions.insert(self.project.clone());
        extensions.insert(OriginalUri(original));
        if let Some(public_url) = &self.public_url {
            extensions.insert(public_url.clone());
        }
        if let Some(client) = self.client {
            extensions.insert(client);
        }
        if let Some(id) = &self.id {
            extensions.insert(id.clone());
        }
        DefaultBodyLimit::disable().apply(&mut request);
        let mut auth = self.auth.clone();
        Box::pin(async move { auth.call(request).await })
    }
}

/// `/user?a` of `http://host/p/ref/auth/v1/user?a`.
fn below_auth(uri: &Uri) -> Uri {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let below = target.split_once(AUTH).map_or(target, |(_, below)| below);
    below.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use plinth_token::{Algorithm, KeyStatus, SigningKey};

    use super::*;

    #[test]
    fn whoever_has_no_cookies_of_a_session_is_a_guest() {
        let check = |cookie: &'static str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().expect("a header"));
            let found = visitor(&SessionState::Anonymous, "sb-x-auth-token", &headers);
            assert_eq!(found, expected, "{cookie}");
        };
        check("a=b; sb-x-auth-token=base64-e30", Visitor::Holder);
        check(
            "sb-x-auth-token.0=base64-e; sb-x-auth-token.1=30",
            Visitor::Holder,
        );
        check("sb-x-auth-token=forged", Visitor::Holder);
        check("sb-x-auth-token-code-verifier=1", Visitor::Guest);
        check("sb-y-auth-token=base64-e30", Visitor::Guest);
        check("nonsense", Visitor::Guest);
    }

    #[test]
    fn the_keys_are_there_before_anybody_fetches_them() {
        let signing = SigningKey::generate(Algorithm::Es256).expect("a key");
        let keys = plinth_token::KeySet::builder()
            .signing_key(signing, KeyStatus::InUse)
            .build();

        let cache = at_hand(&keys.expect("a set"));

        assert!(cache.age_ms(SystemClock.now_ms()).is_some());
        assert!(format!("{cache:?}").contains("keys: 1"), "{cache:?}");
    }

    #[test]
    fn the_service_sees_its_own_path() {
        let check = |uri: &'static str, expected: &str| {
            assert_eq!(below_auth(&Uri::from_static(uri)).to_string(), expected);
        };
        check(
            "http://127.0.0.1:54321/auth/v1/token?grant_type=refresh_token",
            "/token?grant_type=refresh_token",
        );
        check("http://a.example/p/x/auth/v1/user", "/user");
    }
}
