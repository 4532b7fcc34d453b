//! The test harness: a database, the service, requests and responses.

mod authenticator;
mod call;
mod mail_server;
mod reply;
mod text_server;

use std::{net::IpAddr, time::Duration};

use axum::{Extension, Router, extract::Request, middleware::map_request};
use http::Method;
use plinth_auth::{AuthConfig, AuthService, Clock, routes};
use plinth_db::PoolConfig;
use plinth_project::{
    ClientAddress, OperatorCall, Project, ProjectDb, PublicUrl, RequestId, UserAdministration,
};
use plinth_testkit::{
    ProjectBuilder, TestDatabase, behind_gateway, keyset, load_settings, project_keys,
};
use plinth_token::KeySet;
use serde_json::{Value, json};
use tokio_postgres::types::ToSql;

pub(crate) use authenticator::Authenticator;
pub(crate) use call::AuthCall;
pub(crate) use mail_server::{Behaviour, MailServer};
pub(crate) use plinth_testkit::{
    Call, PUBLISHABLE_KEY, ReceivedRequest, Remote, Reply, Requests, SECRET, Sql, claims, sign,
};
pub(crate) use reply::AuthReply;
pub(crate) use text_server::{MESSAGE_ID, TextServer};

pub(crate) const PUBLIC_URL: &str = "http://api.test";
const HASH_COST: &str = "plinth.auth.password.hash_cost";
/// Cheap hashes make sign-ups fast; few tests are about hashing.
const CHEAP_HASHES: (&str, &str) = (HASH_COST, "4");
/// The default hashing cost.
pub(crate) const USUAL_HASHES: (&str, &str) = (HASH_COST, "10");
/// The request id that the gateway sets.
pub(crate) const REQUEST_ID: &str = "one-of-this-test";

/// The service with its own database and clock.
pub(crate) struct Api {
    router: Router,
    service: AuthService,
    project: Project,
    clock: Clock,
    pub(crate) db: TestDatabase,
}

impl Api {
    /// With these settings (`("auth.enable_signup", "false")`) and defaults for the rest. The site
    /// is `http://localhost:3000`; addresses are autoconfirmed unless
    /// `auth.email.enable_confirmations` is set, and passwords are hashed cheaply.
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        Self::with_keys(settings, keyset(SECRET)).await
    }

    /// The same with other signing keys.
    pub(crate) async fn with_keys(settings: &[(&str, &str)], keyset: KeySet) -> Self {
        Self::with(settings, keyset, PoolConfig::default()).await
    }

    /// The same with one database connection, so that a request that needs two fails.
    pub(crate) async fn with_one_connection(settings: &[(&str, &str)]) -> Self {
        let pool = PoolConfig {
            size: 1,
            acquire_timeout: Duration::from_secs(8),
            ..PoolConfig::default()
        };
        Self::with(settings, keyset(SECRET), pool).await
    }

    async fn with(settings: &[(&str, &str)], keyset: KeySet, pool: PoolConfig) -> Self {
        let db = TestDatabase::create().await;
        Self::over(db, Clock::manual(), settings, keyset, pool)
    }

    /// The same after a restart with these settings: in-memory state is lost.
    pub(crate) fn restarted(self, settings: &[(&str, &str)]) -> Self {
        let pool = PoolConfig::default();
        Self::over(self.db, self.clock, settings, keyset(SECRET), pool)
    }

    fn over(
        db: TestDatabase,
        clock: Clock,
        settings: &[(&str, &str)],
        keyset: KeySet,
        pool: PoolConfig,
    ) -> Self {
        let usual = [("auth.site_url", "http://localhost:3000"), CHEAP_HASHES];
        let service = AuthService::with_clock(clock.clone());
        let login = db.target().options("-c role=supabase_auth_admin");
        let project = ProjectBuilder::new(ProjectDb::standalone(login, pool))
            .keys(project_keys(keyset))
            .settings(load_settings(usual.iter().chain(settings)))
            .build();
        Self {
            router: router(service.clone(), project.clone(), clock.clone()),
            service,
            project,
            clock,
            db,
        }
    }

    /// The same as a replacement of GoTrue, without mailbox and gateway.
    pub(crate) fn standalone(self) -> Self {
        let config = self.project.config::<AuthConfig>();
        let service = AuthService::standalone(AuthConfig::clone(&config));
        let router = router(service.clone(), self.project.clone(), self.clock.clone());
        Self {
            router,
            service,
            ..self
        }
    }

    /// The same as `plinth start` runs it on loopback.
    pub(crate) fn local(self) -> Self {
        let service = AuthService::local();
        let router = router(service.clone(), self.project.clone(), self.clock.clone());
        Self {
            router,
            service,
            ..self
        }
    }

    /// Another node of the project: the same database and clock, and nothing else.
    pub(crate) async fn another_node(&self, settings: &[(&str, &str)]) -> Self {
        let db = TestDatabase::named(self.db.name()).await;
        let (clock, pool) = (self.clock.clone(), PoolConfig::default());
        Self::over(db, clock, settings, keyset(SECRET), pool)
    }

    /// The service as the platform uses it, and a call of an operator who is called `ops`.
    pub(crate) fn administration(&self) -> (&dyn UserAdministration, OperatorCall) {
        let address = IpAddr::from([192, 0, 2, 44]);
        let call = OperatorCall {
            project: self.project.clone(),
            operator: "ops".to_owned(),
            public_url: PublicUrl::new(PUBLIC_URL),
            client: Some(ClientAddress {
                ip: address,
                peer: address,
                is_forwarded: false,
            }),
            user_agent: "Console".to_owned(),
        };
        (&self.service, call)
    }

    /// Advances the clock.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// The time of the service.
    pub(crate) fn now(&self) -> time::OffsetDateTime {
        self.clock.now()
    }

    /// Deletes expired rows; returns their number.
    pub(crate) async fn clean_up(&self) -> u64 {
        let removed = self.service.clean_up(&self.project).await;
        removed.expect("a round of cleaning")
    }

    /// Signs up an autoconfirmed user; returns the token response.
    pub(crate) async fn sign_up(&self, email: &str, password: &str) -> Value {
        let body = json!({ "email": email, "password": password });
        let reply = self.post("/signup", body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// The result of a query with one JSON value: `select to_jsonb(…)`.
    pub(crate) async fn value(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Value {
        let row = self.admin().await.query_one(sql, params).await;
        let row = row.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
        row.get::<_, Option<Value>>(0).unwrap_or(Value::Null)
    }

    /// The hash in the link of the only token of this kind, e.g. `confirmation_token`.
    pub(crate) async fn link_token(&self, kind: &str) -> String {
        let sql = "select to_jsonb(token_hash) from auth.one_time_tokens
                   where token_type::text = $1";
        let token = self.value(sql, &[&kind]).await;
        token.as_str().expect("a token").to_owned()
    }

    /// Names of the actions in the audit log, oldest first.
    pub(crate) async fn audit(&self) -> Vec<String> {
        let sql = "select payload->>'action' from auth.audit_log_entries order by created_at, ctid";
        let rows = self.admin().await.query(sql, &[]).await;
        let rows = rows.expect("the log can be read");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The newest mail to this address.
    pub(crate) async fn mail_to(&self, address: &str) -> Mail {
        let mails = self.mails().await;
        let mut mails = mails.into_iter().rev();
        let found = mails.find(|mail| mail["recipient"] == address);
        Mail(found.unwrap_or_else(|| panic!("no mail to {address}")))
    }

    /// Mails of the development mailbox, oldest first, each a row as JSON.
    pub(crate) async fn mails(&self) -> Vec<Value> {
        let sql = "select to_jsonb(m) from plinth.mailbox m order by id";
        let rows = self.admin().await.query(sql, &[]).await;
        let rows = rows.expect("the mailbox can be read");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

impl Requests for Api {
    fn router(&self) -> Router {
        self.router.clone()
    }

    /// With the publishable key and the dated API version, as supabase-js does.
    fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router(), method, path)
            .header("apikey", PUBLISHABLE_KEY)
            .header("x-supabase-api-version", "2024-01-01")
    }
}

impl Sql for Api {
    fn db(&self) -> &TestDatabase {
        &self.db
    }
}

/// A mail of the development mailbox.
pub(crate) struct Mail(Value);

impl Mail {
    pub(crate) fn template(&self) -> &str {
        self.0["template"].as_str().expect("a name")
    }

    /// The code in it.
    pub(crate) fn otp(&self) -> String {
        self.0["otp"].as_str().expect("digits").to_owned()
    }

    /// The link in it, as a path of the service.
    pub(crate) fn link(&self) -> String {
        let link = self.0["links"][0].as_str().expect("a link");
        let base = format!("{PUBLIC_URL}/auth/v1");
        let path = link.strip_prefix(&base);
        path.unwrap_or_else(|| panic!("{link} is elsewhere"))
            .to_owned()
    }

    /// The hash in the link.
    pub(crate) fn token_hash(&self) -> String {
        let link = self.link();
        let (_, rest) = link.split_once("token=").expect("a token");
        rest.split('&').next().expect("a value").to_owned()
    }
}

/// The router with what the gateway of the full server adds.
fn router(service: AuthService, project: Project, clock: Clock) -> Router {
    let router = routes(service)
        .layer(map_request(async |request| with_test_headers(request)))
        .layer(Extension(PublicUrl::new(PUBLIC_URL)));
    behind_gateway(router, &project, move || clock.now().unix_timestamp())
}

/// Adds the request id, and the client's address if the test sends one as a header. `Forwarded` stands
/// for what the gateway takes for a proxy.
fn with_test_headers(mut request: Request) -> Request {
    let address = |name| {
        let value = request.headers().get(name)?;
        value.to_str().ok()?.parse::<IpAddr>().ok()
    };
    let ip = address("x-test-client").unwrap_or(IpAddr::from([127, 0, 0, 1]));
    let peer = address("x-test-peer").unwrap_or(ip);
    let is_forwarded = request.headers().contains_key("forwarded");
    let extensions = request.extensions_mut();
    extensions.insert(ClientAddress {
        ip,
        peer,
        is_forwarded,
    });
    extensions.insert(RequestId(REQUEST_ID.into()));
    request
}

/// Incompressible text: an index entry holds a few thousand bytes.
pub(crate) fn noise(letters: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 33) as u8 % 26)
    };
    (0..letters).map(|_| letter()).collect()
}
