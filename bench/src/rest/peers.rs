//! How each program that speaks PostgREST's protocol is started.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

use crate::managed::{self, Login};

use super::POOL;

/// Configuration of such a program.
pub(crate) struct Configuration<'a> {
    pub(crate) login: &'a Login,
    pub(crate) jwt_secret: &'a str,
    pub(crate) port: u16,
}

impl Configuration<'_> {
    /// PostgREST, or `plinth serve rest` in its place: the same names for both.
    pub(crate) fn postgrest(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("PGRST_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("PGRST_DB_URI", self.login.url())
            .env("PGRST_DB_SCHEMAS", "public")
            .env("PGRST_DB_ANON_ROLE", "anon")
            .env("PGRST_DB_POOL", POOL.to_string())
            .env("PGRST_JWT_SECRET", self.jwt_secret)
            .env("PGRST_SERVER_HOST", "127.0.0.1")
            .env("PGRST_SERVER_PORT", self.port.to_string());
        command
    }

    /// `@supabase/lite` from where it was installed.
    pub(crate) fn supabase_lite(&self, folder: &Path) -> Command {
        let mut command = Command::new("node");
        command
            .arg("serve.js")
            .current_dir(folder)
            .env("PGHOST", &self.login.socket_dir)
            .env("PGPORT", self.login.port.to_string())
            .env("PGUSER", &self.login.user)
            .env("PGPASSWORD", &self.login.password)
            .env("PGDATABASE", &self.login.database)
            .env("POOL_SIZE", POOL.to_string())
            .env("JWT_SECRET", self.jwt_secret)
            .env("PORT", self.port.to_string())
            .env("NODE_ENV", "production")
            .env("DO_NOT_TRACK", "1")
            .env("LITE_TELEMETRY", "0");
        command
    }
}

/// `POSTGREST_BIN`, if it is set.
pub(crate) fn postgrest_program() -> Option<PathBuf> {
    env::var_os("POSTGREST_BIN").map(PathBuf::from)
}

/// What a program says when asked for its version.
pub(crate) fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Installs the pinned packages beside the build, unless they are there already.
pub(crate) fn install_supabase_lite() -> anyhow::Result<PathBuf> {
    let source = managed::workspace().join("bench/peers/supabase-lite");
    let program = env::current_exe()?;
    let beside = program.parent().context("a program without a folder")?;
    let folder = beside.join("bench-peers/supabase-lite");
    let pinned = fs::read(source.join("package-lock.json"))?;
    let done = folder.join("installed.json");
    fs::create_dir_all(&folder)?;
    for file in ["package.json", "package-lock.json", "serve.js"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    if fs::read(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(folder);
    }
    eprintln!("installing @supabase/lite ...");
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .context("npm does not run")?;
    ensure!(
        output.status.success(),
        "npm ci failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::write(done, pinned)?;
    Ok(folder)
}

/// The version that is pinned, and node's.
pub(crate) fn supabase_lite_version(folder: &Path) -> anyhow::Result<String> {
    let manifest = fs::read(folder.join("node_modules/@supabase/lite/package.json"))?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
    let own = manifest["version"].as_str().unwrap_or("unknown");
    let node = version(Path::new("node"))?;
    Ok(format!("@supabase/lite {own} on node {node}"))
}
