//! A database, the service over it, requests and whole answers.

mod authenticator;
mod call;
mod mail_server;
mod remote;
mod reply;
mod text_server;

use std::{net::IpAddr, time::Duration};

use axum::{Extension, Router};
use http::{Method, Request};
use plinth_auth::{AuthConfig, AuthService, Clock, routes};
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{
    ApiKey, ClientAddress, Credentials, Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef,
    PublicUrl, RequestId,
};
use plinth_settings::{Loader, SettingsHandle};
use plinth_testkit::TestDatabase;
use plinth_token::{ApiKeyKind, KeySet, credential_hash};
use serde_json::{Value, json};
use tokio_postgres::{Client, types::ToSql};

pub(crate) use authenticator::Authenticator;
pub(crate) use call::Call;
pub(crate) use mail_server::{Behaviour, MailServer};
pub(crate) use remote::{Asked, Remote};
pub(crate) use reply::Reply;
pub(crate) use text_server::{MESSAGE_ID, TextServer};

pub(crate) const SECRET: &str = "a secret that is long enough for HMAC";
pub(crate) const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";
pub(crate) const PUBLIC_URL: &str = "http://api.test";
const HASH_COST: &str = "plinth.auth.password.hash_cost";
/// Most tests sign somebody up, and few are about what hashing costs.
const CHEAP_HASHES: (&str, &str) = (HASH_COST, "4");
/// What passwords cost unless somebody chooses otherwise.
pub(crate) const USUAL_HASHES: (&str, &str) = (HASH_COST, "10");
/// What the gateway calls every request.
pub(crate) const REQUEST_ID: &str = "one-of-this-test";

/// The service over one database of its own, with a clock of its own.
pub(crate) struct Api {
    router: Router,
    service: AuthService,
    project: Project,
    clock: Clock,
    pub(crate) db: TestDatabase,
}

impl Api {
    /// With these settings (`("auth.enable_signup", "false")`) and the defaults for the rest. The
    /// site is at `http://localhost:3000`; addresses count as confirmed at once unless
    /// `auth.email.enable_confirmations` says otherwise, and passwords are hashed cheaply.
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        Self::with_keys(settings, legacy_keys()).await
    }

    /// The same with other signing keys.
    pub(crate) async fn with_keys(settings: &[(&str, &str)], keyset: KeySet) -> Self {
        Self::with(settings, keyset, PoolConfig::default()).await
    }

    /// The same with one connection to the database: who needs a second one waits in vain.
    pub(crate) async fn narrow(settings: &[(&str, &str)]) -> Self {
        let pool = PoolConfig {
            size: 1,
            acquire_timeout: Duration::from_secs(8),
            ..PoolConfig::default()
        };
        Self::with(settings, legacy_keys(), pool).await
    }

    async fn with(settings: &[(&str, &str)], keyset: KeySet, pool: PoolConfig) -> Self {
        let db = TestDatabase::create().await;
        Self::over(db, Clock::standing(), settings, keyset, pool)
    }

    /// The same after a restart, with these settings: what was only remembered is forgotten.
    pub(crate) fn restarted(self, settings: &[(&str, &str)]) -> Self {
        let pool = PoolConfig::default();
        Self::over(self.db, self.clock, settings, legacy_keys(), pool)
    }

    fn over(
        db: TestDatabase,
        clock: Clock,
        settings: &[(&str, &str)],
        keyset: KeySet,
        pool: PoolConfig,
    ) -> Self {
        let loader = [("auth.site_url", "http://localhost:3000"), CHEAP_HASHES]
            .iter()
            .chain(settings)
            .fold(Loader::new(), |loader, (name, value)| {
                loader.command_line(*name, *value)
            });
        let service = AuthService::with_clock(clock.clone());
        let project = project(&db, loader, keyset, pool);
        Self {
            router: router(service.clone(), project.clone(), clock.clone()),
            service,
            project,
            clock,
            db,
        }
    }

    /// The same in place of GoTrue, which has no mailbox to read and nobody above it.
    pub(crate) fn alone(self) -> Self {
        let config = self.project.config::<AuthConfig>();
        let service = AuthService::alone(AuthConfig::clone(&config));
        let router = router(service.clone(), self.project.clone(), self.clock.clone());
        Self {
            router,
            service,
            ..self
        }
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// The time that the service sees.
    pub(crate) fn now(&self) -> time::OffsetDateTime {
        self.clock.now()
    }

    /// Removes what is too old; how many rows that were.
    pub(crate) async fn clean_up(&self) -> u64 {
        let removed = self.service.clean_up(&self.project).await;
        removed.expect("a round of cleaning")
    }

    /// Carries the publishable key and asks for the dated version of errors, as supabase-js does.
    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router.clone(), method, path)
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Call {
        self.call(Method::POST, path).json(&body)
    }

    pub(crate) fn put(&self, path: &str, body: Value) -> Call {
        self.call(Method::PUT, path).json(&body)
    }

    pub(crate) fn patch(&self, path: &str, body: Value) -> Call {
        self.call(Method::PATCH, path).json(&body)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    /// Signs somebody up who is confirmed at once; the whole token answer.
    pub(crate) async fn sign_up(&self, email: &str, password: &str) -> Value {
        let body = json!({ "email": email, "password": password });
        let reply = self.post("/signup", body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// A connection of the superuser.
    pub(crate) async fn admin(&self) -> Client {
        self.db.admin().await
    }

    /// Runs statements as the superuser.
    pub(crate) async fn execute(&self, sql: &str) {
        let done = self.admin().await.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    /// One value that a query of one row gives, as JSON: `select to_jsonb(…)`.
    pub(crate) async fn value(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Value {
        let row = self.admin().await.query_one(sql, params).await;
        let row = row.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
        row.get::<_, Option<Value>>(0).unwrap_or(Value::Null)
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let row = self.admin().await.query_one(sql, &[]).await;
        row.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
            .get(0)
    }

    /// What the link of the only token of this kind carries: `confirmation_token`, say.
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

    /// The newest mail that went to this address.
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

/// A mail of the development mailbox.
pub(crate) struct Mail(Value);

impl Mail {
    pub(crate) fn template(&self) -> &str {
        self.0["template"].as_str().expect("a name")
    }

    /// The digits in it.
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

    /// The hash that the link carries.
    pub(crate) fn token_hash(&self) -> String {
        let link = self.link();
        let (_, rest) = link.split_once("token=").expect("a token");
        rest.split('&').next().expect("a value").to_owned()
    }
}

fn legacy_keys() -> KeySet {
    let keys = KeySet::builder().legacy_secret(SECRET).build();
    keys.expect("a good secret")
}

fn project(db: &TestDatabase, settings: Loader, keyset: KeySet, pool: PoolConfig) -> Project {
    let key = ApiKey::new(Default::default(), "default", ApiKeyKind::Publishable);
    let keys = ProjectKeys {
        api_keys: [(credential_hash(PUBLISHABLE_KEY), key.into())].into(),
        ..ProjectKeys::new(keyset)
    };
    let settings = settings.load().expect("good settings").settings;
    let (logs, _writer) =
        LogStore::open(std::env::temp_dir(), plinth_log::Config::default()).expect("a log store");
    Project::new(
        ProjectRef::generate(),
        ProjectKind::Default,
        ProjectDb::alone(db.target().options("-c role=supabase_auth_admin"), pool),
        keys,
        SettingsHandle::new(settings),
        logs,
    )
}

/// The service behind what the gateway of the full server does.
fn router(service: AuthService, project: Project, clock: Clock) -> Router {
    let gateway = (project.clone(), clock);
    routes(service)
        .layer(axum::middleware::map_request(move |request| {
            let (project, clock) = gateway.clone();
            async move { as_gateway(&project, &clock, request) }
        }))
        .layer(Extension(project))
        .layer(Extension(PublicUrl::new(PUBLIC_URL)))
}

/// Reads credentials and the client's address, which tests send as a header.
fn as_gateway<B>(project: &Project, clock: &Clock, mut request: Request<B>) -> Request<B> {
    let now = clock.now().unix_timestamp();
    let credentials = Credentials::read(project, request.headers(), None, now);
    let shown = request.headers().get("x-test-client");
    let shown = shown.and_then(|value| value.to_str().ok()?.parse().ok());
    let ip = shown.unwrap_or(IpAddr::from([127, 0, 0, 1]));
    let peer = request.headers().get("x-test-peer");
    let peer = peer.and_then(|value| value.to_str().ok()?.parse().ok());
    let address = ClientAddress {
        ip,
        peer: peer.unwrap_or(ip),
    };
    request.extensions_mut().insert(credentials);
    request.extensions_mut().insert(address);
    request
        .extensions_mut()
        .insert(RequestId(REQUEST_ID.into()));
    request
}

/// So many letters that no compression makes fewer: an index holds only some thousand bytes.
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

/// A token with these claims, signed with the project's secret.
pub(crate) fn sign(claims: &Value) -> String {
    let Value::Object(claims) = claims else {
        panic!("claims are an object");
    };
    legacy_keys().sign(claims).expect("a signed token")
}

/// The claims that a token of ours holds.
pub(crate) fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).expect("a token of three parts");
    let bytes = data_encoding::BASE64URL_NOPAD.decode(payload.as_bytes());
    serde_json::from_slice(&bytes.expect("base64url")).expect("JSON")
}
