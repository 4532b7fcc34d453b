//! A stock PostgreSQL that Plinth did not make.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{eventually, free_port, kill, try_rows, wait_for_exit};

const BIN_DIR: &str = "/usr/lib/postgresql/15/bin";
const PASSWORD: &str = "stock-password";

/// A cluster as a distribution makes it: superuser `postgres`, passwords, TCP.
pub(crate) struct ExternalPostgres {
    port: u16,
    child: Child,
    folder: TempDir,
}

impl ExternalPostgres {
    /// Starts one with a database `app`, or reports that the programs are missing.
    pub(crate) fn start() -> Option<Self> {
        let bin_dir = Path::new(BIN_DIR);
        if !bin_dir.join("initdb").exists() {
            return None;
        }
        let folder = tempfile::Builder::new()
            .prefix("plinth-stock-")
            .tempdir()
            .expect("a folder");
        let (uid, gid) = account()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("its mode");
        chown(folder.path(), Some(uid), Some(gid)).expect("its owner");
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).expect("a file");
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).expect("its mode");
        let made = as_account(uid, gid, bin_dir.join("initdb"), folder.path())
            .args([
                "-U",
                "postgres",
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "-N",
                "--pwfile",
            ])
            .arg(&password)
            .arg("-D")
            .arg(data(&folder))
            .output()
            .expect("initdb runs");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let port = free_port();
        let server = Self {
            port,
            child: spawn(&folder, port)?,
            folder,
        };
        server.wait();
        try_rows(&server.url("postgres"), "create database app").expect("a database");
        Some(server)
    }

    /// Stops it as an operator would, which hangs up on everybody, and starts it again.
    pub(crate) fn restart(&mut self) {
        kill(self.child.id(), Signal::INT);
        let stopped = wait_for_exit(&mut self.child, Duration::from_secs(30));
        assert!(stopped.is_some(), "a client keeps it from stopping");
        self.child = spawn(&self.folder, self.port).expect("postgres runs");
        self.wait();
    }

    fn stop(&mut self) {
        kill(self.child.id(), Signal::INT);
        if wait_for_exit(&mut self.child, Duration::from_secs(10)).is_none() {
            _ = self.child.kill();
            _ = self.child.wait();
        }
    }

    fn wait(&self) {
        let url = self.url("postgres");
        eventually(
            Duration::from_secs(30),
            "the stock PostgreSQL is ready",
            || try_rows(&url, "select 1").ok(),
        );
    }

    /// Its superuser on a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!(
            "postgresql://postgres:{PASSWORD}@127.0.0.1:{}/{database}",
            self.port
        )
    }
}

impl Drop for ExternalPostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

fn data(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}

fn spawn(folder: &TempDir, port: u16) -> Option<Child> {
    let (uid, gid) = account()?;
    let program = Path::new(BIN_DIR).join("postgres");
    let started = as_account(uid, gid, program, folder.path())
        .arg("-D")
        .arg(data(folder))
        .args(["-p", &port.to_string(), "-k"])
        .arg(folder.path())
        .args([
            "-c",
            "fsync=off",
            "-c",
            "wal_level=logical",
            "-c",
            "listen_addresses=127.0.0.1",
        ])
        // Its output is not read, and a full pipe would stop it.
        .stderr(Stdio::null())
        .spawn();
    Some(started.expect("postgres runs"))
}

/// The user it runs as: the current one, unless that is root.
fn account() -> Option<(u32, u32)> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    if !uid.is_root() {
        return Some((uid.as_raw(), gid.as_raw()));
    }
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn as_account(uid: u32, gid: u32, program: PathBuf, folder: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if rustix::process::getuid().is_root() {
        command.uid(uid).gid(gid);
    }
    command
}
