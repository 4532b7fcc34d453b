//! The list of all projects, as the console's first screen reads it, beside the bare statement.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use axum::body::Body;
use http::{Request, StatusCode};
use plinth_log::LogStore;
use plinth_platform::{
    Bootstrap, ConfiguredKeys, ConnectionShare, DefaultDatabase, Endpoints, Platform, api,
};
use plinth_project::{Registry, RegistryParts};
use plinth_settings::Loader;
use plinth_token::InstanceKey;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::{
    machine::Machine,
    managed,
    report::{Goal, Measure, Report, Unit},
    work_folder,
};

const MAX_LIST_MS: f64 = 50.0;
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const LIST: &str = "/platform/projects/summary";
/// Names of rows; the databases need not exist, because the list opens none.
const INSERT: &str = "
    insert into platform.projects (ref, name, database, status, sealed_owner_password,
        sealed_authenticator_password, sealed_service_password, sealed_jwt_secret)
    select ref, 'Project ' || number, ref, 'ACTIVE_HEALTHY', '', '', '', ''
    from (select number, 'zzzzzzzzzzzzzz' || translate(lpad(number::text, 6, '0'), '0123456789', 'abcdefghij')
          from generate_series(1, $1::int) as number) as made (number, ref)";
/// What the list reads of them.
const BARE: &str = "
    select p.ref, p.name, p.organization, p.server, p.database, p.kind, p.status, p.region_label,
           p.created_at, b.parent_ref
    from platform.projects p left join platform.branches b on b.ref = p.ref
    order by p.created_at, p.ref";

/// Command line of `plinth-bench console`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How many projects there are.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    projects: u32,
    /// How often the list is read.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let folder = work_folder::create()?;
    let runtime = Runtime::new()?;
    let (ours, bare) = runtime.block_on(async {
        let server = managed::start(folder.path()).await?;
        let measured = measure(options, folder.path(), &server).await;
        server.stop(STOP_TIMEOUT).await;
        measured
    })?;
    let mut report = Report::new("console", "Lists of the console", machine);
    report.setting = vec![format!(
        "{} projects, of which none is open; {} rounds; in process, without the network",
        options.projects, options.rounds
    )];
    report.measures = vec![Measure::new(
        "`GET /platform/projects/summary`",
        Unit::Milliseconds,
        ours,
        ("bare statement", bare),
        Goal::AtMost(MAX_LIST_MS),
    )];
    Ok(report)
}

async fn measure(
    options: &Options,
    folder: &std::path::Path,
    server: &plinth_postgres::Server,
) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let (logs, writer) = LogStore::open(folder.join("logs"), plinth_log::Config::default())?;
    let _writer = writer.start()?;
    let admin = managed::admin(server.connection());
    let platform = platform(admin.clone(), &logs).await?;
    let zero = admin.database(platform.references().platform.as_str());
    let zero = zero.connect().await?;
    let count = i32::try_from(options.projects)?;
    zero.execute(INSERT, &[&count]).await?;
    zero.batch_execute("analyze platform.projects").await?;
    let router = api::routes(platform.clone());
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let mut request = Request::get(LIST).body(Body::empty())?;
        request.extensions_mut().insert(api::ControlSocket);
        let began = Instant::now();
        let response = router.clone().oneshot(request).await?;
        ensure!(response.status() == StatusCode::OK, "{}", response.status());
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await?;
        ours.push(milliseconds(began.elapsed()));
        let list: Vec<serde_json::Value> = serde_json::from_slice(&body)?;
        ensure!(list.len() > options.projects as usize, "{}", list.len());
        let began = Instant::now();
        zero.query(BARE, &[]).await?;
        bare.push(milliseconds(began.elapsed()));
    }
    platform.begin_shutdown();
    platform.drain().await;
    Ok((ours, bare))
}

async fn platform(admin: plinth_db::Target, logs: &LogStore) -> anyhow::Result<Platform> {
    let bootstrap = Bootstrap {
        maintenance: admin,
        default_database: DefaultDatabase::Managed("bench_default".to_owned()),
        instance_key: InstanceKey::generate(),
        schemas: plinth_testkit::system_schemas(),
        configured_keys: ConfiguredKeys::default(),
        default_owner_password: None,
        connections: ConnectionShare {
            owner: None,
            pool_size: 5,
        },
        isolates_by_default: false,
        trash: Duration::ZERO,
        logs: logs.clone(),
    };
    let platform = bootstrap
        .run()
        .await
        .context("the platform's own database")?;
    let registry = Registry::new(RegistryParts {
        directory: std::sync::Arc::new(platform.clone()),
        servers: std::sync::Arc::new(platform.clone()),
        schemas: plinth_testkit::system_schemas(),
        pool: plinth_db::PoolConfig::default(),
        logs: logs.clone(),
        settings_for: Box::new(|record| {
            Ok(Loader::new()
                .stored(record.settings.clone())
                .load()?
                .settings)
        }),
    });
    let endpoints = Endpoints {
        api_url: "http://127.0.0.1:54321".to_owned(),
        database: None,
        domain: None,
        external_database: None,
    };
    platform.attach(registry, endpoints);
    Ok(platform)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
