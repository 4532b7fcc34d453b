//! The server, the table and the caller that both sides use.

use std::time::Duration;

use anyhow::Context as _;
use plinth_db::{LocalSettings, Target, migrate};
use plinth_postgres::{Connection, Server};
use plinth_project::{LoginKind, Logins, ProjectRef, logins, prepare_cluster};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::{
    managed::{self, Login},
    pgbench::Script,
    work_folder,
};

/// Enough that the index has several levels, few enough that all of it stays in memory.
pub(crate) const ROWS: i32 = 100_000;

/// What both sides run between the settings and the COMMIT; `$1` is a random id.
pub(crate) const SELECT: &str = "select id, owner, body from public.items where id = $1";

/// Spelled as the pool spells it.
pub(crate) const BEGIN: &str = "begin isolation level read committed read only";

const SUBJECT: &str = "6f0c6a52-44f5-4f0e-9f0c-2f6f2b8f2f10";

const CLAIMS: &str = concat!(
    r#"{"aud":"authenticated","exp":1999999999,"iat":1999996399,"iss":"http://127.0.0.1/auth/v1","#,
    r#""sub":"6f0c6a52-44f5-4f0e-9f0c-2f6f2b8f2f10","email":"ada@example.com","phone":"","#,
    r#""app_metadata":{"provider":"email","providers":["email"]},"user_metadata":{},"#,
    r#""role":"authenticated","aal":"aal1","#,
    r#""session_id":"0d4b7a0e-6a0e-4f57-8f6a-2b1a7d1f9c55","is_anonymous":false}"#
);

/// The caller's settings, in the order in which they are applied.
pub(crate) const SETTINGS: [(&str, &str); 4] = [
    ("role", "authenticated"),
    ("request.jwt.claims", CLAIMS),
    ("request.method", "GET"),
    ("request.path", "/items"),
];

/// A running server with the benchmark's table. Its processes and folder go with it.
pub(crate) struct Prepared {
    server: Server,
    /// Drives the server's supervision, apart from what is measured.
    runtime: Runtime,
    login: Login,
    _folder: TempDir,
}

impl Prepared {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let folder = work_folder::create()?;
        let (server, login) = runtime.block_on(async {
            let server = managed::start(folder.path()).await?;
            let login = prepare(server.connection()).await?;
            anyhow::Ok((server, login))
        })?;
        Ok(Self {
            server,
            runtime,
            login,
            _folder: folder,
        })
    }

    pub(crate) fn version(&self) -> String {
        self.server.version().to_string()
    }

    pub(crate) fn login(&self) -> &Login {
        &self.login
    }

    /// The login as our pool takes it.
    pub(crate) fn target(&self) -> Target {
        let Login {
            socket_dir,
            port,
            user,
            password,
            database,
            ..
        } = &self.login;
        Target::unix(socket_dir, *port, user, password, database)
    }

    /// The settings as our pool takes them.
    pub(crate) fn settings() -> LocalSettings<'static> {
        let mut settings = LocalSettings::default();
        for (name, value) in SETTINGS {
            settings.set(name, value);
        }
        settings
    }

    pub(crate) fn stop(self) {
        self.runtime
            .block_on(self.server.stop(Duration::from_secs(10)));
    }
}

/// The settings statement, as the pool spells it.
pub(crate) fn settings_sql(mut parameter: impl FnMut(usize) -> String) -> String {
    let calls = (0..SETTINGS.len()).map(|i| {
        let (name, value) = (parameter(2 * i), parameter(2 * i + 1));
        format!("pg_catalog.set_config({name},{value},true)")
    });
    format!("select {}", calls.collect::<Vec<_>>().join(","))
}

/// The four statements for pgbench. `\gset` fails on anything but exactly one row.
pub(crate) fn script() -> Script {
    let texts = SETTINGS.iter().flat_map(|(name, value)| [name, value]);
    let values = texts
        .enumerate()
        .map(|(i, text)| (format!("s{i}"), (*text).to_owned()));
    Script {
        transaction: transaction(";"),
        check: transaction("\n\\gset"),
        values: values.collect(),
    }
}

fn transaction(end_of_select: &str) -> String {
    let settings = settings_sql(|i| format!(":s{i}"));
    let select = SELECT.replace("$1", ":wanted");
    format!(
        "\\set wanted random(1, {ROWS})\n{BEGIN};\n{settings};\n{select}{end_of_select}\ncommit;\n"
    )
}

/// Roles, logins and schemas as a project has them, then the table.
async fn prepare(connection: &Connection) -> anyhow::Result<Login> {
    let maintenance = managed::admin(connection);
    let mut admin = maintenance.connect().await?;
    let cluster = prepare_cluster(&mut admin, true).await?;
    let reference = ProjectRef::generate();
    let database = reference.to_string();
    let passwords = Logins::generate();
    admin
        .batch_execute(&logins::create_sql(&cluster, &reference, &passwords))
        .await?;
    let create = format!("create database {database} template template0 encoding 'UTF8'");
    admin.batch_execute(&create).await?;
    admin
        .batch_execute(&logins::open_database_sql(&cluster, &reference, &database))
        .await?;

    let mut inside = maintenance.database(&database).connect().await?;
    migrate::migrate(&mut inside, &[plinth_project::schema::MIGRATIONS]).await?;
    make_table(&inside)
        .await
        .context("the benchmark's table cannot be made")?;

    Ok(Login {
        socket_dir: connection.socket_dir.clone(),
        socket: connection.socket(),
        port: connection.port,
        user: LoginKind::Authenticator.role_name(&reference),
        password: passwords
            .password(LoginKind::Authenticator)
            .expose()
            .to_owned(),
        database,
    })
}

async fn make_table(client: &Client) -> anyhow::Result<()> {
    let sql = format!(
        "create table public.items (id int primary key, owner uuid not null, body text not null);
         insert into public.items
         select n, '{SUBJECT}', 'item ' || n || ' ' || repeat('x', 100)
         from generate_series(1, {ROWS}) n;
         alter table public.items enable row level security;
         create policy own_items on public.items for select to authenticated
         using (owner = (select (current_setting('request.jwt.claims', true)::jsonb
                                 ->> 'sub')::uuid));
         grant select on public.items to authenticated;"
    );
    client.batch_execute(&sql).await?;
    client
        .batch_execute("vacuum (analyze) public.items")
        .await?;
    client.batch_execute("checkpoint").await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_statement_names_all_parameters_in_order() {
        let sql = settings_sql(|i| format!("${}", i + 1));
        assert!(
            sql.starts_with("select pg_catalog.set_config($1,$2,true),"),
            "{sql}"
        );
        assert!(sql.ends_with(",pg_catalog.set_config($7,$8,true)"), "{sql}");
    }

    #[test]
    fn the_script_has_the_four_statements_and_no_numbered_parameter() {
        let Script { transaction, .. } = script();
        assert_eq!(transaction.matches(";\n").count(), 4);
        assert!(!transaction.contains('$'), "{transaction}");
        assert!(
            transaction.contains("where id = :wanted;\n"),
            "{transaction}"
        );
    }

    #[test]
    fn the_claims_name_the_owner_of_the_rows() {
        let claims: serde_json::Value = serde_json::from_str(CLAIMS).unwrap();
        assert_eq!(claims["sub"], SUBJECT);
        assert_eq!(claims["role"], SETTINGS[0].1);
    }
}
