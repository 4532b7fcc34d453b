//! The services of one project on a loopback port, with a database of their own.

mod functions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::{Extension, Router};
use futures_util::{Stream, TryStreamExt};
use http::Request;
use plinth_auth::AuthService;
use plinth_client::realtime::RealtimeOptions;
use plinth_client::{AdminClient, Client, MemoryStore, RealtimeError};
use plinth_db::{PoolConfig, Target};
use plinth_project::{Project, ProjectDb, PublicUrl};
use plinth_realtime::RealtimeService;
use plinth_rest::RestService;
use plinth_storage::{BlobStore, ImageRendererConfig, StorageService};
use plinth_testkit::{
    Listener, PUBLISHABLE_KEY, ProjectBuilder, SECRET_KEY, TestDatabase, bind_loopback,
    load_settings, now, project_keys,
};
use plinth_token::{Algorithm, KeySet, KeyStatus, SigningKey};
use serde_json::Value;
use tower::ServiceExt;

pub(crate) use plinth_testkit::TEST_TIMEOUT;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A table of which users see their own rows, and a function.
const SCHEMA: &str = "
    do $$ begin
        -- Roles belong to the cluster, which all tests of a process share.
        create role live_login login noinherit password 'live_login';
    exception when duplicate_object or unique_violation then null;
    end $$;
    grant authenticator to live_login;
    create table public.todos (
        id bigint generated always as identity primary key,
        owner uuid not null default auth.uid(),
        title text not null unique,
        tags text[] not null default '{}',
        is_done boolean not null default false
    );
    alter table public.todos enable row level security;
    create policy own on public.todos using (owner = auth.uid()) with check (owner = auth.uid());
    grant select, insert, update, delete on public.todos to anon, authenticated, service_role;
    create function public.add(a int, b int) returns int language sql immutable
        as 'select a + b';
";

/// All tests hash passwords and start workers at the same time, which takes a busy machine longer than
/// the usual limits.
const LONG_TIMEOUTS: [(&str, &str); 2] = [
    ("plinth.auth.request_timeout", "60s"),
    ("plinth.functions.boot_timeout", "60s"),
];

/// One project's services; they stop with this.
pub(crate) struct Live {
    url: String,
    pub(crate) db: TestDatabase,
    /// How many refresh requests there were.
    refreshes: Arc<AtomicUsize>,
    _listener: Listener,
    /// Where the bytes of files are, and functions.
    folder: tempfile::TempDir,
}

impl Live {
    /// Addresses count as confirmed at once.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With these settings on top.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        let db = TestDatabase::create().await;
        install(&db).await;
        let (socket, address) = bind_loopback().await;
        let url = format!("http://{address}");
        let refreshes = Arc::new(AtomicUsize::new(0));
        let folder = tempfile::tempdir().expect("a folder");
        let router = router(&db, settings, &url, refreshes.clone(), &folder);
        Self {
            url,
            db,
            refreshes,
            _listener: Listener::serve((socket, address), router),
            folder,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A client without a session.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url, PUBLISHABLE_KEY).expect("a client")
    }

    /// A client with this store, which refreshes only when used.
    pub(crate) fn client_with(&self, store: &MemoryStore) -> Client {
        let builder = Client::builder(&self.url, PUBLISHABLE_KEY).auto_refresh(false);
        builder
            .session_store(store.clone())
            .build()
            .expect("a client")
    }

    /// A client whose channels are connected this way.
    pub(crate) fn client_talking(&self, options: RealtimeOptions) -> Client {
        client_of(&self.url, options)
    }

    /// A client that may do everything.
    pub(crate) fn with_secret_key(&self) -> Client {
        Client::new(&self.url, SECRET_KEY).expect("a client")
    }

    /// A private bucket in which everybody who signed up may do everything.
    pub(crate) async fn bucket(&self, id: &str) {
        let storage = self.with_secret_key().storage();
        storage.create_bucket(id).send().await.expect("a bucket");
        let sql = format!(
            "create policy \"{id}\" on storage.objects for all to authenticated \
             using (bucket_id = '{id}') with check (bucket_id = '{id}')"
        );
        let done = self.db.admin().await.batch_execute(&sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}"));
    }

    pub(crate) fn admin(&self) -> AdminClient {
        AdminClient::new(&self.url, SECRET_KEY).expect("an admin client")
    }

    /// A client in which a new user is signed in.
    pub(crate) async fn signed_up(&self, email: &str) -> Client {
        let client = self.client();
        let sign_up = client.auth().sign_up().email(email).password(PASSWORD);
        sign_up.send().await.expect("an account");
        client
    }

    pub(crate) fn refreshes(&self) -> usize {
        self.refreshes.load(Ordering::SeqCst)
    }

    /// The newest mail to an address: a row of the development mailbox.
    pub(crate) async fn mail_to(&self, address: &str) -> Value {
        let sql = "select to_jsonb(m) from plinth.mailbox m where recipient = $1 \
                   order by id desc limit 1";
        let row = self.db.admin().await.query_one(sql, &[&address]).await;
        row.unwrap_or_else(|error| panic!("no mail to {address}: {error}"))
            .get(0)
    }
}

/// A client of a server that is reached at this address.
pub(crate) fn client_of(url: &str, options: RealtimeOptions) -> Client {
    let builder = Client::builder(url, PUBLISHABLE_KEY).realtime(options);
    builder.build().expect("a client")
}

/// What a stream of a channel gives next.
pub(crate) async fn next<T>(
    stream: &mut (impl Stream<Item = Result<T, RealtimeError>> + Unpin),
) -> T {
    let next = tokio::time::timeout(TEST_TIMEOUT, stream.try_next()).await;
    let next = next.expect("something arrives in time");
    next.expect("no failure").expect("no end")
}

async fn install(db: &TestDatabase) {
    // One at a time: roles are granted in a table that all databases share.
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = ONE_AT_A_TIME.lock().await;
    let done = db.admin().await.batch_execute(SCHEMA).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
}

fn router(
    db: &TestDatabase,
    settings: &[(&str, &str)],
    url: &str,
    refreshes: Arc<AtomicUsize>,
    folder: &tempfile::TempDir,
) -> Router {
    let settings = &[&LONG_TIMEOUTS[..], settings].concat();
    let signing = SigningKey::generate(Algorithm::Es256).expect("a key");
    let keyset = KeySet::builder()
        .signing_key(signing, KeyStatus::InUse)
        .build()
        .expect("keys");
    let auth_login = db.target().options("-c role=supabase_auth_admin");
    let auth = project(auth_login, settings, &keyset);
    let rest = project(
        db.target().login("live_login", "live_login"),
        settings,
        &keyset,
    );
    let auth_routes = plinth_auth::routes(AuthService::new());
    let auth_routes = auth_routes.layer(axum::middleware::map_request(
        move |request: axum::extract::Request| {
            let query = request.uri().query().unwrap_or_default();
            if request.uri().path() == "/token" && query.contains("refresh_token") {
                refreshes.fetch_add(1, Ordering::SeqCst);
            }
            async move { request }
        },
    ));
    let auth = behind_gateway(auth_routes, auth, url);
    let rest = behind_gateway(plinth_rest::routes(RestService::new()), rest, url);
    let files = project(
        db.target().options("-c role=plinth_storage"),
        settings,
        &keyset,
    );
    let files = behind_gateway(plinth_storage::routes(storage(folder)), files, url);
    // It switches to the caller's role, which only the full server's logins may without this.
    let realtime = project(db.target().clone(), settings, &keyset);
    let realtime = behind_gateway(
        plinth_realtime::routes(RealtimeService::new()),
        realtime,
        url,
    );
    let functions = project(db.target().clone(), settings, &keyset);
    let functions = behind_gateway(functions::routes(folder.path(), url), functions, url);
    let services = [
        ("/auth/v1", auth),
        ("/rest/v1", rest),
        ("/storage/v1", files),
        ("/realtime/v1", realtime),
        ("/functions/v1", functions),
    ];
    Router::new().fallback(async move |mut request: Request<Body>| {
        let path = request.uri().to_string();
        let (rest_of_path, service) = services
            .into_iter()
            .find_map(|(mount, service)| Some((path.strip_prefix(mount)?, service)))
            .expect("a path of a service");
        *request.uri_mut() = rest_of_path.parse().expect("a path");
        service.oneshot(request).await
    })
}

fn storage(folder: &tempfile::TempDir) -> StorageService {
    let store = BlobStore::Local {
        folder: folder.path().join("files"),
        fsync: false,
    };
    let studio = ImageRendererConfig {
        folder: folder.path().join("renditions"),
        cache_bytes: 1024 * 1024,
        workers: None,
        max_memory: 256 * 1024 * 1024,
    };
    StorageService::new(store, &studio)
}

/// What the gateway of the full server does.
fn behind_gateway(routes: Router, project: Project, url: &str) -> Router {
    plinth_testkit::behind_gateway(routes, &project, now).layer(Extension(PublicUrl::new(url)))
}

fn project(login: Target, settings: &[(&str, &str)], keyset: &KeySet) -> Project {
    let usual = [
        ("auth.site_url", "http://localhost:3000"),
        // Errors are not held back.
        ("plinth.realtime.connect_error_backoff", "1ms"),
        ("plinth.realtime.channel_error_backoff", "1ms"),
    ];
    ProjectBuilder::new(ProjectDb::standalone(login, PoolConfig::default()))
        .keys(project_keys(keyset.clone()))
        .settings(load_settings(usual.iter().chain(settings)))
        .build()
}
