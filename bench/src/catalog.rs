//! Reading what is in a database of many tables, beside the same queries with their results thrown away.

use std::time::{Duration, Instant};

use anyhow::ensure;
use plinth_catalog::{
    objects::{
        Column, Constraint, ForeignTable, Function, Index, MaterializedView, Object, Policy,
        Publication, RelationPrivileges, Schema, Table, Trigger, UserType, View,
    },
    read::{Scope, fill_sizes, list},
};
use postgres_types::Type;
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::{
    machine::Machine,
    managed,
    report::{Goal, Measure, Report, Unit},
    work_folder,
};

const MAX_CATALOG_MS: f64 = 500.0;

/// Command line of `plinth-bench catalog`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How many tables there are.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=20_000))]
    tables: u32,
    /// How often everything is read.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let folder = work_folder::create()?;
    let runtime = Runtime::new()?;
    let (measures, version) = runtime.block_on(async {
        let server = managed::start(folder.path()).await?;
        let client = managed::admin(server.connection()).connect().await?;
        eprintln!("making {} tables ...", options.tables);
        fill(&client, options.tables).await?;
        let measures = measure(&client, options).await?;
        anyhow::Ok((measures, server.version().to_string()))
    })?;
    let mut report = Report::new("catalog", "The catalogue of a database", machine);
    report.setting = vec![format!(
        "PostgreSQL {version}; {} tables, each with ten columns, an identity, a check, a foreign key, two \
         indexes and a policy; one session; {} rounds",
        options.tables, options.rounds,
    )];
    report.measures = measures;
    Ok(report)
}

async fn fill(client: &Client, tables: u32) -> anyhow::Result<()> {
    for number in 1..=tables {
        let parent = number.max(2) - 1;
        let sql = format!(
            "create table t{number} (
                 id bigint generated always as identity primary key, a text not null default 'x', b int,
                 c timestamptz default now(), d jsonb, e uuid, f text[], g numeric(10,2) check (g > 0),
                 h bool, p bigint references t{parent});
             create index on t{number} (a);
             alter table t{number} enable row level security;
             create policy p on t{number} using (id > 0);"
        );
        client.batch_execute(&sql).await?;
    }
    client.batch_execute("analyze").await?;
    Ok(())
}

async fn measure(client: &Client, options: &Options) -> anyhow::Result<Vec<Measure>> {
    let (mut all, mut all_bare) = (Vec::new(), Vec::new());
    let (mut tables, mut tables_bare) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let began = Instant::now();
        let count = read_all(client).await?;
        all.push(milliseconds(began.elapsed()));
        ensure!(count > 10 * options.tables as usize, "{count} objects only");
        let began = Instant::now();
        read_all_bare(client).await?;
        all_bare.push(milliseconds(began.elapsed()));

        let began = Instant::now();
        read::<Table>(client).await?;
        read::<Column>(client).await?;
        tables.push(milliseconds(began.elapsed()));
        let began = Instant::now();
        bare::<Table>(client).await?;
        bare::<Column>(client).await?;
        tables_bare.push(milliseconds(began.elapsed()));
    }
    let peer = "the bare queries";
    let measure = |what: &str, ours, bare| {
        let goal = Goal::AtMost(MAX_CATALOG_MS);
        Measure::new(what, Unit::Milliseconds, ours, (peer, bare), goal)
    };
    Ok(vec![
        measure("everything, read anew", all, all_bare),
        measure("tables and columns, read anew", tables, tables_bare),
    ])
}

async fn read<T: Object>(client: &Client) -> anyhow::Result<usize> {
    Ok(list::<T>(client, &Scope::default()).await?.len())
}

async fn bare<T: Object>(client: &Client) -> anyhow::Result<()> {
    let ids: Option<Vec<u32>> = None;
    let params = [
        (&false as &(dyn postgres_types::ToSql + Sync), Type::BOOL),
        (&ids, Type::OID_ARRAY),
        (&false, Type::BOOL),
    ];
    client.query_typed(T::SQL, &params).await?;
    Ok(())
}

/// What the screens of a database show.
async fn read_all(client: &Client) -> anyhow::Result<usize> {
    let scope = Scope::default();
    let mut tables: Vec<Table> = list(client, &scope).await?;
    ensure!(
        fill_sizes(client, &scope, &mut tables).await?,
        "a table is gone"
    );
    Ok(tables.len()
        + read::<Schema>(client).await?
        + read::<Column>(client).await?
        + read::<View>(client).await?
        + read::<MaterializedView>(client).await?
        + read::<ForeignTable>(client).await?
        + read::<Index>(client).await?
        + read::<Constraint>(client).await?
        + read::<Function>(client).await?
        + read::<Trigger>(client).await?
        + read::<Policy>(client).await?
        + read::<UserType>(client).await?
        + read::<Publication>(client).await?
        + read::<RelationPrivileges>(client).await?)
}

async fn read_all_bare(client: &Client) -> anyhow::Result<()> {
    bare::<Table>(client).await?;
    bare::<Schema>(client).await?;
    bare::<Column>(client).await?;
    bare::<View>(client).await?;
    bare::<MaterializedView>(client).await?;
    bare::<ForeignTable>(client).await?;
    bare::<Index>(client).await?;
    bare::<Constraint>(client).await?;
    bare::<Function>(client).await?;
    bare::<Trigger>(client).await?;
    bare::<Policy>(client).await?;
    bare::<UserType>(client).await?;
    bare::<Publication>(client).await?;
    bare::<RelationPrivileges>(client).await
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
