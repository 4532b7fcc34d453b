//! The servers, and how each is started.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use super::CONNECTIONS;
use crate::{databases::Databases, served::Served, start::program::free_port};

pub(crate) const ALONE: &str = "plinth serve auth";
pub(crate) const FULL: &str = "plinth start";
pub(crate) const GOTRUE: &str = "GoTrue";

/// No limit that one client alone could reach.
pub(crate) const UNLIMITED: &str = "1000000000";

/// How a server is reached.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) prefix: &'static str,
    /// The API key.
    pub(crate) key: String,
    /// The administrators' key.
    pub(crate) admin_key: String,
    pub(crate) pid: u32,
}

/// The keys that all sides have in common.
pub(crate) struct Keys {
    pub(crate) anon: String,
    pub(crate) service_role: String,
    pub(crate) jwt_secret: String,
}

/// A side and its process.
pub(crate) struct Program {
    pub(crate) side: Side,
    _served: Served,
}

impl Keys {
    /// `plinth serve auth` on a database.
    pub(crate) fn alone(
        &self,
        plinth: &Path,
        databases: &Databases,
        database: &str,
    ) -> anyhow::Result<Program> {
        let mut command = Command::new(plinth);
        command.args(["serve", "auth"]);
        self.start(ALONE, command, databases, database)
    }

    /// GoTrue on a database that it made the schema of.
    pub(crate) fn gotrue(
        &self,
        program: &Path,
        databases: &Databases,
        database: &str,
    ) -> anyhow::Result<Program> {
        self.start(GOTRUE, Command::new(program), databases, database)
    }

    /// Lets GoTrue make its schema.
    pub(crate) fn migrate_gotrue(
        &self,
        program: &Path,
        databases: &Databases,
        database: &str,
    ) -> anyhow::Result<()> {
        databases.execute(
            database,
            "create schema if not exists auth authorization supabase_auth_admin",
        )?;
        let mut command = Command::new(program);
        command.arg("migrate");
        self.configure(
            &mut command,
            databases,
            database,
            free_port()?.local_addr()?.port(),
        );
        let output = command.output().context("it does not run")?;
        ensure!(
            output.status.success(),
            "it cannot make its schema: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    fn start(
        &self,
        name: &'static str,
        mut command: Command,
        databases: &Databases,
        database: &str,
    ) -> anyhow::Result<Program> {
        let port = free_port()?.local_addr()?.port();
        self.configure(&mut command, databases, database, port);
        let served = Served::start(command, port, "/health")
            .with_context(|| format!("{name} does not start"))?;
        let side = self.side(name, port, "", served.pid());
        Ok(Program {
            side,
            _served: served,
        })
    }

    pub(crate) fn side(
        &self,
        name: &'static str,
        port: u16,
        prefix: &'static str,
        pid: u32,
    ) -> Side {
        Side {
            name,
            port,
            prefix,
            key: self.anon.clone(),
            admin_key: self.service_role.clone(),
            pid,
        }
    }

    /// GoTrue's variable names, which both understand. The minimum interval between mails is disabled.
    fn configure(&self, command: &mut Command, databases: &Databases, database: &str, port: u16) {
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("GOTRUE_") {
                command.env_remove(name);
            }
        }
        let pool = CONNECTIONS.to_string();
        command
            .env("DATABASE_URL", databases.url(database))
            .env("GOTRUE_DB_DRIVER", "postgres")
            .env("GOTRUE_DB_MAX_POOL_SIZE", &pool)
            .env("GOTRUE_DB_MAX_IDLE_POOL_SIZE", &pool)
            .env("DB_NAMESPACE", "auth")
            .env("API_HOST", "127.0.0.1")
            .env("GOTRUE_API_HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("API_EXTERNAL_URL", format!("http://127.0.0.1:{port}"))
            .env("GOTRUE_SITE_URL", "http://127.0.0.1:3000")
            .env("GOTRUE_JWT_SECRET", &self.jwt_secret)
            .env("GOTRUE_JWT_AUD", "authenticated")
            .env("GOTRUE_JWT_DEFAULT_GROUP_NAME", "authenticated")
            .env("GOTRUE_JWT_ADMIN_ROLES", "service_role")
            .env("GOTRUE_MAILER_AUTOCONFIRM", "true")
            .env("GOTRUE_SMTP_MAX_FREQUENCY", "1us")
            .env("GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", "true")
            .env("GOTRUE_LOG_LEVEL", "warn");
        for limit in ["EMAIL_SENT", "OTP", "TOKEN_REFRESH", "VERIFY"] {
            command.env(format!("GOTRUE_RATE_LIMIT_{limit}"), UNLIMITED);
        }
    }
}

/// `GOTRUE_BIN`, if it is set.
pub(crate) fn gotrue_program() -> Option<PathBuf> {
    env::var_os("GOTRUE_BIN").map(PathBuf::from)
}

/// The same for the full server, as its own settings.
pub(crate) fn full_settings() -> Vec<String> {
    let settings = [
        format!("plinth.pool.size={CONNECTIONS}"),
        format!("auth.rate_limit.token_refresh={UNLIMITED}"),
        format!("auth.rate_limit.sign_in_sign_ups={UNLIMITED}"),
    ];
    settings
        .into_iter()
        .flat_map(|setting| ["--set".to_owned(), setting])
        .collect()
}
