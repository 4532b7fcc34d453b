//! The one database that all sides serve.

use std::time::Duration;

use anyhow::Context as _;
use plinth_db::Target;
use plinth_postgres::Server;
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::Mutex};
use tokio_postgres::Client;

use super::recorder::Recorder;
use crate::{
    managed::{self, Login},
    work_folder,
};

/// Enough that the index has several levels, few enough that all of it stays in memory.
pub(crate) const ITEMS: i32 = 100_000;
/// All ids have six digits, so that all responses are equally long.
pub(crate) const FIRST_ID: i32 = 100_001;
pub(crate) const AUTHORS: usize = 1000;
pub(crate) const BOOKS_PER_AUTHOR: usize = 5;
/// As many rows as the full server gives at most.
pub(crate) const DOCUMENTS: usize = 1000;
const DOCUMENT_BYTES: usize = 10_500;

const DATABASE: &str = "bench";
/// What a login role for these services may become, and nothing else.
const AUTHENTICATOR: &str = "bench_authenticator";
const PASSWORD: &str = "bench";

/// Room for the pools of all sides at once.
const SETTINGS: [(&str, &str); 1] = [("max_connections", "400")];

/// A running server. Its processes and folder go with it.
pub(crate) struct Database {
    server: Server,
    /// Drives the server's supervision, apart from what is measured.
    runtime: Runtime,
    admin: Mutex<Option<Client>>,
    _folder: TempDir,
}

impl Database {
    /// With an empty database.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let folder = work_folder::create()?;
        let server = runtime.block_on(async {
            let server = managed::start_with(folder.path(), &SETTINGS).await?;
            let admin = managed::admin(server.connection()).connect().await?;
            let create = format!("create database {DATABASE} template template0 encoding 'UTF8'");
            admin.batch_execute(&create).await?;
            anyhow::Ok(server)
        })?;
        Ok(Self {
            server,
            runtime,
            admin: Mutex::new(None),
            _folder: folder,
        })
    }

    pub(crate) fn version(&self) -> String {
        self.server.version().to_string()
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        managed::pid(&self.server)
    }

    /// For the full server, which makes roles and schemas.
    pub(crate) fn superuser_url(&self) -> String {
        self.superuser().url()
    }

    pub(crate) fn superuser(&self) -> Login {
        let at = self.server.connection();
        Login {
            user: at.superuser.clone(),
            password: at.password.clone(),
            ..self.login()
        }
    }

    /// An authenticator, who may become anonymous and see nothing.
    pub(crate) fn login(&self) -> Login {
        let at = self.server.connection();
        Login {
            socket_dir: at.socket_dir.clone(),
            socket: at.socket(),
            port: at.port,
            user: AUTHENTICATOR.to_owned(),
            password: PASSWORD.to_owned(),
            database: DATABASE.to_owned(),
        }
    }

    /// Leads this login to a socket that records what is sent.
    pub(crate) fn record(&self, login: &mut Login) -> anyhow::Result<Recorder> {
        let _inside = self.runtime.enter();
        let recorder = Recorder::start(&login.socket)?;
        login.socket_dir = recorder.socket_dir().to_owned();
        Ok(recorder)
    }

    /// Tables, policies and the login. The roles must be there.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        self.execute(&format!(
            "create role {AUTHENTICATOR} noinherit login password '{PASSWORD}';
             grant anon to {AUTHENTICATOR};"
        ))?;
        self.execute(&tables())
            .context("the benchmark's tables cannot be made")?;
        for statement in ["vacuum (analyze)", "checkpoint"] {
            self.execute(statement)?;
        }
        Ok(())
    }

    /// As the superuser.
    pub(crate) fn execute(&self, sql: &str) -> anyhow::Result<()> {
        self.as_admin(async |admin| Ok(admin.batch_execute(sql).await?))
    }

    /// Rows of a table.
    pub(crate) fn count(&self, table: &str) -> anyhow::Result<u64> {
        let sql = format!("select count(*) from {table}");
        let count: i64 =
            self.as_admin(async |admin| Ok(admin.query_one(&sql, &[]).await?.get(0)))?;
        Ok(count.try_into()?)
    }

    fn as_admin<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(async {
            let mut admin = self.admin.lock().await;
            let client = match admin.take() {
                Some(client) => client,
                None => Target::from_url(&self.superuser_url())?.connect().await?,
            };
            let done = work(&client).await;
            *admin = Some(client);
            done
        })
    }

    pub(crate) fn stop(self) {
        self.runtime
            .block_on(self.server.stop(Duration::from_secs(10)));
    }
}

fn tables() -> String {
    let last = FIRST_ID + ITEMS - 1;
    format!(
        "create table public.items (id int primary key, owner uuid not null, body text not null);
         insert into public.items
         select n, '6f0c6a52-44f5-4f0e-9f0c-2f6f2b8f2f10', 'item ' || n || ' ' || repeat('x', 100)
         from generate_series({FIRST_ID}, {last}) n;

         create table public.authors (id int primary key, name text not null, born date not null);
         insert into public.authors
         select n, 'Author ' || n, date '1900-01-01' + n from generate_series(1, {AUTHORS}) n;

         create table public.books (id int primary key, title text not null, pages int not null,
             author_id int not null references public.authors);
         insert into public.books
         select n, 'Book ' || n, n % 900, n % {AUTHORS} + 1
         from generate_series(1, {AUTHORS} * {BOOKS_PER_AUTHOR}) n;
         create index on public.books (author_id);

         create table public.documents (id int primary key, body text not null);
         alter table public.documents alter column body set storage external;
         insert into public.documents
         select n, repeat(md5(n::text), {DOCUMENT_BYTES} / 32)
         from generate_series(1, {DOCUMENTS}) n;

         create table public.readings (id bigint generated always as identity primary key,
             sensor int not null, value double precision not null, note text not null);
         {}",
        ["items", "authors", "books", "documents", "readings"]
            .map(open_table)
            .join("\n")
    )
}

/// Anonymous callers may do everything, because a policy says so.
fn open_table(table: &str) -> String {
    format!(
        "alter table public.{table} enable row level security;
         create policy everybody on public.{table} to anon using (true) with check (true);
         grant select, insert on public.{table} to anon;"
    )
}
