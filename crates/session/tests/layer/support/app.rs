//! A small application inside the layer.

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, header};
use plinth_client::{ManualClock, Session as StoredSession};
use plinth_session::{
    RequireAal2, RequireRole, RoleName, Session, SessionLayer, SessionLayerBuilder, SessionRuntime,
    SessionState, SessionWriter, UserClient, auth_routes,
};

use super::{Browser, NOW_MS, PROJECT_URL, Upstream};

pub(crate) const APP_URL: &str = "https://app.test";

/// The application, the auth service it relies on, and their clock.
pub(crate) struct App {
    pub(crate) upstream: Upstream,
    pub(crate) clock: ManualClock,
    router: Router,
}

impl App {
    pub(crate) fn new() -> Self {
        Self::with(Upstream::new(), |builder| builder)
    }

    pub(crate) fn with(
        upstream: Upstream,
        configure: impl FnOnce(SessionLayerBuilder) -> SessionLayerBuilder,
    ) -> Self {
        let clock = ManualClock::at(NOW_MS);
        let builder = SessionLayer::builder(PROJECT_URL, "anon")
            .http(upstream.http())
            .clock(clock.clone())
            .public_url(APP_URL)
            .runtime(SessionRuntime::new());
        let layer = configure(builder).build().unwrap();
        Self {
            upstream,
            clock,
            router: routes().layer(layer),
        }
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.router())
    }

    /// A browser whose session is good for so many seconds.
    pub(crate) fn signed_in_for(&self, seconds: i64) -> Browser {
        self.browser()
            .holding(&self.upstream.tokens().session(seconds, "first"))
    }
}

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/public", get(|| async { "public" }))
        .route("/maybe", get(current_user))
        .route("/private", get(private).post(private))
        .route(
            "/aal2",
            get(|session: RequireAal2| async move { session.user_id().to_string() }),
        )
        .route(
            "/editor",
            get(|session: RequireRole<Editor>| async move { session.role().to_owned() }),
        )
        .route("/state", get(state).post(state))
        .route("/name", get(name))
        .route("/headers", get(headers))
        .route("/debug", get(debug))
        .route("/cached", get(cached))
        .route("/own-cookie", get(own_cookie))
        .route("/sign-in", post(sign_in))
        .route("/replace", post(replace))
        .route(
            "/clear",
            post(|writer: SessionWriter| async move { writer.clear() }),
        )
        .route("/clear-old", post(clear_old))
        .route("/begin", post(begin))
        .route("/renew", post(renew))
        .route("/rows", get(rows))
        .merge(auth_routes())
}

pub(crate) struct Editor;

impl RoleName for Editor {
    const NAME: &'static str = "editor";
}

async fn current_user(session: Option<Session>) -> String {
    session.map_or("anonymous".to_owned(), |session| {
        session.user_id().to_string()
    })
}

async fn private(session: Session) -> String {
    session.user_id().to_string()
}

async fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::Anonymous => "anonymous",
        SessionState::SignedIn(_) => "signed in",
        _ => "unavailable",
    }
}

/// What the cookie says about the user, which is display data.
async fn name(session: Session) -> String {
    let user = session.unverified_user();
    let name = user.and_then(|user| Some(user.user_metadata()?.get("name")?.to_string()));
    name.unwrap_or_default()
}

/// What inner services are shown.
async fn headers(headers: HeaderMap) -> String {
    let shown = |name| {
        headers
            .get(name)
            .map_or("-", |value| value.to_str().unwrap())
    };
    format!("{} {}", shown(header::COOKIE), shown(header::IF_NONE_MATCH))
}

/// All that a handler can get hold of, as it would be logged.
async fn debug(state: SessionState, session: Session, writer: SessionWriter) -> String {
    let (client, store) = (writer.client().unwrap(), writer.store());
    let signed_in = writer.sign_in(session.stored().unwrap()).await.unwrap();
    format!("{state:?} {session:?} {signed_in:?} {client:?} {store:?}")
}

async fn cached(_: Option<Session>) -> Response {
    (
        [
            (header::CACHE_CONTROL, "public, max-age=60"),
            (header::VARY, "accept"),
        ],
        "x",
    )
        .into_response()
}

async fn own_cookie(_: Option<Session>) -> Response {
    ([(header::SET_COOKIE, "theme=dark")], Body::empty()).into_response()
}

async fn sign_in(writer: SessionWriter, body: String) -> Result<String, String> {
    let session = StoredSession::from_json(&body).map_err(|error| error.to_string())?;
    let signed_in = writer
        .sign_in(&session)
        .await
        .map_err(|error| error.to_string())?;
    assert_eq!(signed_in.is_other_user, writer.has_changed_user());
    Ok(format!("other user: {}", signed_in.is_other_user))
}

async fn replace(writer: SessionWriter, body: String) -> Result<String, String> {
    let session = StoredSession::from_json(&body).map_err(|error| error.to_string())?;
    let session = writer
        .replace(&session)
        .await
        .map_err(|error| error.to_string())?;
    Ok(session.claims().aal().unwrap_or_default().to_owned())
}

/// The session's cookies at a domain of an earlier version.
async fn clear_old(writer: SessionWriter) {
    let domain = Some(".old.test".to_owned());
    let scope = plinth_session::cookie::Scope { domain, path: None };
    writer.clear_at_scopes(&[scope]).unwrap();
}

async fn rows(client: UserClient) -> String {
    client
        .from("rows")
        .select("*")
        .execute()
        .await
        .unwrap()
        .data
        .to_string()
}

/// Refreshes through the SDK, whatever time is left.
async fn renew(writer: SessionWriter) -> Result<String, String> {
    let client = writer.client().map_err(|error| error.to_string())?;
    let renewed = client.auth().refresh().await;
    let session = renewed.map_err(|error| error.to_string())?;
    Ok(session.refresh_token().to_owned())
}

async fn begin(writer: SessionWriter) -> String {
    let kind = plinth_client::auth::RedirectType::SignIn;
    let flow = writer.begin_flow(kind).await.unwrap();
    format!("{} {}", flow.id(), flow.challenge())
}
