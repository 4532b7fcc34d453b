//! nginx, which serves files as fast as the kernel can, and proxies requests with minimal work.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::{served::Served, start::program::free_port, work_folder};

/// Returns when it is ready.
const READY: &str = "/is-ready";

/// What it serves.
pub(crate) enum Job<'a> {
    /// Files of a folder.
    Serve(&'a Path),
    /// Requests for a server on this port, over connections that are kept.
    HandOn(u16),
}

/// nginx at work. Dropped, it is stopped.
pub(crate) struct Nginx {
    pub(crate) port: u16,
    pub(crate) version: String,
    _served: Served,
    _folder: TempDir,
}

impl Nginx {
    /// Which one is installed.
    pub(crate) fn version() -> anyhow::Result<String> {
        let program = program();
        let notes = Command::new(&program).arg("-v").output();
        let notes = notes.with_context(|| format!("{} does not run", program.display()))?;
        let version = String::from_utf8_lossy(&notes.stderr);
        Ok(version
            .trim()
            .trim_start_matches("nginx version: ")
            .to_owned())
    }

    /// With nothing else to do. Must be called on the main thread.
    pub(crate) fn start(job: &Job<'_>) -> anyhow::Result<Self> {
        let version = Self::version()?;
        let folder = work_folder::create()?;
        let port = free_port()?.local_addr()?.port();
        let configuration = folder.path().join("nginx.conf");
        fs::write(&configuration, configured(folder.path(), job, port))?;
        let mut command = Command::new(program());
        command
            .arg("-c")
            .arg(&configuration)
            .args(["-e", "stderr"])
            .arg("-p")
            .arg(folder.path());
        Ok(Self {
            port,
            version,
            _served: Served::start(command, port, READY)?,
            _folder: folder,
        })
    }
}

/// `NGINX_BIN`, or the one that is installed.
fn program() -> PathBuf {
    let debian = Path::new("/usr/sbin/nginx");
    match env::var_os("NGINX_BIN") {
        Some(path) => PathBuf::from(path),
        None if debian.is_file() => debian.to_owned(),
        None => PathBuf::from("nginx"),
    }
}

/// As Debian configures it, but for places; a worker for each core.
fn configured(folder: &Path, job: &Job<'_>, port: u16) -> String {
    let user = if rustix::process::geteuid().is_root() {
        // The files belong to the user that runs Plinth.
        "user root;\n"
    } else {
        ""
    };
    let folder = folder.display();
    let (upstream, duty) = match job {
        Job::Serve(root) => (String::new(), format!("root {};", root.display())),
        Job::HandOn(port) => (
            format!("upstream behind {{ server 127.0.0.1:{port}; keepalive 64; }}"),
            "location / { proxy_pass http://behind; proxy_http_version 1.1; \
             proxy_set_header Connection \"\"; }"
                .to_owned(),
        ),
    };
    format!(
        "{user}daemon off;\nworker_processes auto;\npid {folder}/nginx.pid;\n\
         events {{ worker_connections 768; }}\n\
         http {{\n  sendfile on;\n  tcp_nopush on;\n  access_log off;\n\
         \x20 keepalive_requests 10000000;\n\
         \x20 default_type application/octet-stream;\n\
         \x20 client_body_temp_path {folder}/body;\n  proxy_temp_path {folder}/proxy;\n\
         \x20 fastcgi_temp_path {folder}/fastcgi;\n  uwsgi_temp_path {folder}/uwsgi;\n\
         \x20 scgi_temp_path {folder}/scgi;\n  {upstream}\n\
         \x20 server {{\n    listen 127.0.0.1:{port};\n    {duty}\n\
         \x20   location = {READY} {{ return 200 ready; }}\n  }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(job: &Job<'_>, expected: &str) {
        let text = configured(Path::new("/a"), job, 81);
        assert!(text.contains("    listen 127.0.0.1:81;\n"), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn a_job_gives_its_root_or_server() {
        check(&Job::Serve(Path::new("/b")), "root /b;\n");
        check(&Job::HandOn(82), "server 127.0.0.1:82;");
    }
}
