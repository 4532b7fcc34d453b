//! With the real auth service, on a real PostgreSQL.

use std::time::Duration;

use axum::{Extension, Router};
use futures_util::future::join_all;
use plinth_auth::{AuthService, Clock, routes as auth_routes};
use plinth_client::auth::AuthApi;
use plinth_client::{Http, ManualClock, ProjectUrl, Session as StoredSession};
use plinth_db::PoolConfig;
use plinth_project::{ProjectDb, PublicUrl};
use plinth_session::{SessionLayer, SessionRuntime};
use plinth_testkit::{
    PUBLISHABLE_KEY, ProjectBuilder, Sql, TestDatabase, behind_gateway, load_settings, project_keys,
};
use plinth_token::{Algorithm, KeySet, KeyStatus, SigningKey};
use serde_json::json;

use crate::support::{Browser, routes};

const PROJECT_URL: &str = "http://api.test";
const KEY: &str = "sb-api-auth-token";
const PASSWORD: &str = "correct horse";

/// The auth service and an application beside it, by one clock.
struct World {
    api: AuthApi,
    http: Http,
    app: Router,
    server_clock: Clock,
    clock: ManualClock,
    db: TestDatabase,
}

impl World {
    async fn start() -> Self {
        let db = TestDatabase::create().await;
        let server_clock = Clock::manual();
        let now_ms = i64::try_from(server_clock.now().unix_timestamp_nanos() / 1_000_000).unwrap();
        let clock = ManualClock::at(now_ms);
        let service = service(&db, &server_clock);
        let http = Http::with_service(service).with_clock(clock.clone());
        let url = ProjectUrl::parse(PROJECT_URL).unwrap();
        let layer = SessionLayer::builder(PROJECT_URL, PUBLISHABLE_KEY)
            .http(http.clone())
            .clock(clock.clone())
            .public_url("https://app.test")
            .runtime(SessionRuntime::new())
            .build()
            .unwrap();
        Self {
            api: AuthApi::new(&url, PUBLISHABLE_KEY, http.clone()),
            http,
            app: routes().layer(layer),
            server_clock,
            clock,
            db,
        }
    }

    fn advance(&self, by: Duration) {
        self.server_clock.advance(by);
        self.clock.advance(by);
    }

    async fn sign_up(&self, email: &str) -> StoredSession {
        let body = json!({ "email": email, "password": PASSWORD, "data": { "name": "Ann" } });
        self.api.sign_up(body, None).await.unwrap().session.unwrap()
    }

    /// A browser that holds a session under the right name.
    fn browser(&self, session: &StoredSession) -> Browser {
        let mut browser = Browser::new(self.app.clone());
        browser.set_item(KEY, &session.to_json());
        browser
    }
}

impl Sql for World {
    fn db(&self) -> &TestDatabase {
        &self.db
    }
}

fn service(db: &TestDatabase, clock: &Clock) -> Router {
    let signing = SigningKey::generate(Algorithm::Es256).unwrap();
    let keyset = KeySet::builder()
        .signing_key(signing, KeyStatus::InUse)
        .build()
        .unwrap();
    let settings = [
        ("auth.site_url", "http://localhost:3000"),
        ("plinth.auth.password.hash_cost", "4"),
    ];
    let login = db.target().options("-c role=supabase_auth_admin");
    let project = ProjectBuilder::new(ProjectDb::standalone(login, PoolConfig::default()))
        .keys(project_keys(keyset))
        .settings(load_settings(&settings))
        .build();
    let inner = auth_routes(AuthService::with_clock(clock.clone()))
        .layer(Extension(PublicUrl::new(PROJECT_URL)));
    let clock = clock.clone();
    let inner = behind_gateway(inner, &project, move || clock.now().unix_timestamp());
    Router::new().nest("/auth/v1", inner)
}

fn stored(browser: &Browser) -> StoredSession {
    StoredSession::from_json(&browser.item(KEY).unwrap()).unwrap()
}

#[tokio::test]
async fn a_real_session_is_verified_with_the_published_key() {
    let world = World::start().await;
    let session = world.sign_up("ann@mail.dev").await;
    let mut browser = world.browser(&session);

    let reply = browser.get("/private").await;

    let user = session.user().unwrap();
    assert_eq!(reply.short(), (200, user.id()));
    assert_eq!(browser.get("/name").await.short(), (200, "\"Ann\""));
}

#[tokio::test]
async fn two_hundred_requests_with_one_expired_session_make_one_refresh() {
    let world = World::start().await;
    let session = world.sign_up("ann@mail.dev").await;
    let user = session.user().unwrap().id().to_owned();
    world.advance(Duration::from_secs(3700));
    let mut browsers = vec![world.browser(&session); 200];

    let replies = join_all(browsers.iter_mut().map(|browser| browser.get("/private"))).await;

    assert!(
        replies
            .iter()
            .all(|reply| reply.short() == (200, user.as_str()))
    );
    let renewed = stored(&browsers[0]);
    assert_ne!(renewed.refresh_token(), session.refresh_token());
    assert!(browsers.iter().all(|browser| stored(browser) == renewed));
    let tokens = "select count(*) from auth.refresh_tokens";
    assert_eq!(
        world.count(tokens).await,
        2,
        "the first token and its one successor"
    );
}

/// More refreshes than one address may make, were they counted by address: a layer asks for all its
/// users from one, and JavaScript clients take an error for the end of their session.
#[tokio::test]
async fn s96_many_sessions_behind_one_address_may_each_try_eight_times_at_once() {
    let world = World::start().await;
    let mut sessions = Vec::new();
    for number in 0..25 {
        sessions.push(world.sign_up(&format!("ann{number}@mail.dev")).await);
    }

    // The moments of S27.
    let mut elapsed = 0;
    for at in [0, 200, 600, 1400, 3000, 6200, 12_600, 25_400] {
        world.advance(Duration::from_millis(at - elapsed));
        elapsed = at;
        for session in &mut sessions {
            *session = world
                .api
                .refresh_once(session.refresh_token())
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn a_session_that_was_ended_elsewhere_is_cleared() {
    let world = World::start().await;
    let session = world.sign_up("ann@mail.dev").await;
    let mut browser = world.browser(&session);
    let elsewhere = plinth_client::auth::Scope::Global;
    world
        .api
        .sign_out(session.access_token(), elsewhere)
        .await
        .unwrap();

    world.advance(Duration::from_secs(3700));
    let reply = browser.get("/state").await;

    assert_eq!(reply.short(), (200, "anonymous"));
    assert_eq!(browser.cookie_names(), [""; 0]);
}

#[tokio::test]
async fn signing_out_ends_the_session_on_the_server() {
    let world = World::start().await;
    let session = world.sign_up("ann@mail.dev").await;
    let mut browser = world.browser(&session);

    let reply = browser.post("/auth/sign-out", "").await;

    assert_eq!(reply.status.as_u16(), 303);
    assert_eq!(browser.cookie_names(), [""; 0]);
    assert_eq!(world.count("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn a_mailed_link_signs_in_through_the_ready_handler() {
    let world = World::start().await;
    world.sign_up("ann@mail.dev").await;
    world
        .api
        .recover(json!({ "email": "ann@mail.dev" }), None)
        .await
        .unwrap();
    let sql = "select links[1] from plinth.mailbox order by id desc limit 1";
    let link: String = world
        .db
        .admin()
        .await
        .query_one(sql, &[])
        .await
        .unwrap()
        .get(0);
    let link = url::Url::parse(&link).unwrap();
    let hash = link
        .query_pairs()
        .find(|(name, _)| name == "token")
        .unwrap()
        .1
        .into_owned();
    let mut browser = Browser::new(world.app.clone());

    let form = format!("token_hash={hash}&type=recovery&next=%2Fnew");
    let reply = browser.post("/auth/confirm", &form).await;

    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, Some("/new"))
    );
    assert_eq!(browser.get("/private").await.status.as_u16(), 200);
    let again = browser.post("/auth/confirm", &form).await;
    assert_eq!(again.code(), "otp_expired");
}

#[tokio::test]
async fn the_sdk_signs_in_over_the_requests_cookies() {
    use axum::routing::post;
    use plinth_session::{SessionWriter, UserClient};

    let world = World::start().await;
    let session = world.sign_up("ann@mail.dev").await;
    let sign_in = async |writer: SessionWriter| {
        let client = writer.client().unwrap();
        let request = client
            .auth()
            .sign_in_with_password()
            .email("ann@mail.dev")
            .password(PASSWORD);
        request.send().await.unwrap();
    };
    let url = async |client: UserClient| client.project_url().as_str().to_owned();
    let layer = SessionLayer::builder(PROJECT_URL, PUBLISHABLE_KEY)
        .http(world.http.clone())
        .clock(world.clock.clone())
        .public_url("https://app.test")
        .runtime(SessionRuntime::new())
        .build()
        .unwrap();
    let app = routes()
        .route("/password", post(sign_in))
        .route("/url", axum::routing::get(url))
        .layer(layer);
    let mut browser = Browser::new(app);

    assert_eq!(browser.get("/url").await.status.as_u16(), 401);
    assert_eq!(browser.post("/password", "").await.status.as_u16(), 200);

    assert_eq!(
        browser.get("/private").await.short(),
        (200, session.user().unwrap().id())
    );
    assert_eq!(browser.get("/url").await.short(), (200, "http://api.test/"));
}
