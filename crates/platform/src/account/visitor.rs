//! The sign-in state of a visitor, from the session in their cookies, which is verified and
//! refreshed (client contract U2).
//!
//! The auth service is called through its router instead of the network; it decides about sessions.

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
use plinth_session::{
    ConfigError, Session, SessionLayer, SessionState,
    cookie::{CookieOptions, Cookies},
};
use tower::Service;

use super::page::Site;

/// Projects whose key sets are cached.
const MAX_PROJECTS: u64 = 10_000;

/// Mount path of the auth service.
const AUTH: &str = "/auth/v1";

/// Sign-in state, which decides about redirects only. It is no permission: the page is the same for
/// all users and contains nothing but settings; account data comes from the auth service, which
/// verifies tokens itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    /// Not signed in.
    Anonymous,
    /// The session was ended elsewhere; the cookies are still there.
    SessionEnded,
    /// Signed in, with a second factor that was not verified yet.
    MfaPending,
    /// Has session cookies. Also visitors that cannot be checked (an unusual role, an unreachable
    /// database) and forged cookies: the sign-in page sees the same cookies and would redirect back
    /// in a loop.
    SignedIn,
}

/// Creates a [`SessionCheck`] per request.
#[derive(Clone)]
pub(super) struct SessionChecks {
    auth: Router,
    keys: Cache<ProjectRef, Arc<JwksCache>>,
}

impl SessionChecks {
    pub(super) fn new(auth: Router) -> Self {
        Self {
            auth,
            keys: Cache::new(MAX_PROJECTS),
        }
    }

    /// The check for one request to the pages of a project.
    pub(super) fn for_request(
        &self,
        project: &Project,
        site: &Site,
        key: &str,
        request: &Request<Body>,
    ) -> Result<SessionCheck, ConfigError> {
        let reference = project.reference().clone();
        let keys = project.keys();
        let keys = self
            .keys
            .get_with(reference, || prefilled_jwks(&keys.keyset));
        let extensions = request.extensions();
        let http = Http::with_service(InProcessAuth {
            auth: self.auth.clone(),
            project: project.clone(),
            public_url: extensions.get().cloned(),
            client: extensions.get().copied(),
            id: extensions.get().cloned(),
            user_agent: request.headers().get(header::USER_AGENT).cloned(),
        });
        let layer = SessionLayer::builder(site.project_url.as_str(), key)
            .cookie_name(site.storage_key.as_str())
            .cookie_options(CookieOptions::default().path(site.cookie_path.as_str()))
            .public_url(site.project_url.as_str())
            // A project may have several addresses; its keys identify it.
            .any_issuer()
            // The page itself sets the same cookies in the same browser.
            .allow_insecure(true)
            .jwks(keys)
            .http(http.clone())
            .build()?;
        let api = ProjectUrl::parse(&site.project_url)
            .ok()
            .map(|url| AuthApi::new(&url, key, http));
        Ok(SessionCheck {
            layer,
            api,
            storage_key: site.storage_key.clone(),
        })
    }
}

/// A cache that contains the project's keys, which are in memory, so that none need be fetched.
fn prefilled_jwks(keys: &plinth_token::KeySet) -> Arc<JwksCache> {
    let published = KeySet::from_json(&keys.jwks().to_string());
    Arc::new(published.map_or_else(
        |_| JwksCache::new(),
        |keys| JwksCache::with_keys(keys, SystemClock.now_ms()),
    ))
}

/// Checks the session of one request.
#[derive(Clone)]
pub(super) struct SessionCheck {
    pub(super) layer: SessionLayer,
    api: Option<AuthApi>,
    storage_key: String,
}

impl SessionCheck {
    /// The visitor, according to the session layer and the auth service.
    pub(super) async fn visitor(&self, state: &SessionState, headers: &HeaderMap) -> Visitor {
        match (state.session(), &self.api) {
            (Some(session), Some(api)) => visitor_by_session(session, api).await,
            _ => visitor_by_cookies(state, &self.storage_key, headers),
        }
    }
}

/// Asks the auth service whether the session is valid and whether a second factor is missing. The
/// cookie lists the factors too, but the client can change it.
async fn visitor_by_session(session: &Session, api: &AuthApi) -> Visitor {
    match api.user(session.access_token().expose()).await {
        Ok(user) if !session.is_aal2() && user.factors().iter().any(Factor::is_verified) => {
            Visitor::MfaPending
        }
        Err(AuthError::SessionMissing) => Visitor::SessionEnded,
        Ok(_) | Err(_) => Visitor::SignedIn,
    }
}

/// By the cookies alone. The layer has removed cookies of ended sessions from the request.
fn visitor_by_cookies(state: &SessionState, storage_key: &str, headers: &HeaderMap) -> Visitor {
    let has_cookies = || {
        let mut lines = headers.get_all(header::COOKIE).iter();
        lines.any(|line| {
            let line = line.to_str().unwrap_or_default();
            let cookies = Cookies::parse_starting_with(line, storage_key);
            cookies.has_any_of(storage_key)
        })
    };
    match state {
        SessionState::SignedIn(_) => Visitor::SignedIn,
        _ if has_cookies() => Visitor::SignedIn,
        _ => Visitor::Anonymous,
    }
}

/// Calls the auth service of a project in process, with the extensions that the edge would set.
#[derive(Clone)]
struct InProcessAuth {
    auth: Router,
    project: Project,
    public_url: Option<PublicUrl>,
    client: Option<ClientAddress>,
    id: Option<RequestId>,
    /// Users recognise a session by its device.
    user_agent: Option<HeaderValue>,
}

impl Service<Request<Full<Bytes>>> for InProcessAuth {
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
    fn a_visitor_without_session_cookies_is_anonymous() {
        let check = |cookie: &'static str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().expect("a header"));
            let found = visitor_by_cookies(&SessionState::Anonymous, "sb-x-auth-token", &headers);
            assert_eq!(found, expected, "{cookie}");
        };
        check("a=b; sb-x-auth-token=base64-e30", Visitor::SignedIn);
        check(
            "sb-x-auth-token.0=base64-e; sb-x-auth-token.1=30",
            Visitor::SignedIn,
        );
        check("sb-x-auth-token=forged", Visitor::SignedIn);
        check("sb-x-auth-token-code-verifier=1", Visitor::Anonymous);
        check("sb-y-auth-token=base64-e30", Visitor::Anonymous);
        check("nonsense", Visitor::Anonymous);
    }

    #[test]
    fn the_key_cache_is_prefilled() {
        let signing = SigningKey::generate(Algorithm::Es256).expect("a key");
        let keys = plinth_token::KeySet::builder()
            .signing_key(signing, KeyStatus::InUse)
            .build();

        let cache = prefilled_jwks(&keys.expect("a set"));

        assert!(cache.age_ms(SystemClock.now_ms()).is_some());
        assert!(format!("{cache:?}").contains("keys: 1"), "{cache:?}");
    }

    #[test]
    fn the_service_receives_the_path_below_its_mount() {
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
