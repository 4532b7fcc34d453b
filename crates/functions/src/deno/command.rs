//! The command line of the runtime (functions contract §14.2): everything is closed, and what a
//! function needs is opened again.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::ImportMap;
use crate::{catalog::Code, network::Network, scratch::Scratch};

/// Variables of the runtime itself, which no function sees; some of them it sets for itself.
/// `DENO_SERVE_ADDRESS` goes when the function serves.
pub(crate) const HIDDEN_VARIABLES: [&str; 9] = [
    "DENO_DIR",
    "DENO_AUTO_SERVE",
    "DENO_NO_UPDATE_CHECK",
    "DENO_NO_PACKAGE_JSON",
    "DENO_NODE_SHIM_ACTIVE",
    "JSR_URL",
    "NO_COLOR",
    "NPM_CONFIG_REGISTRY",
    "PATH",
];

/// What programs may ask about the machine.
const SYSTEM: &str = "cpus,osRelease,osUptime,systemMemoryInfo,uid,gid,homedir";

/// Other registries than the usual ones. What was fetched is found again under their names.
const REGISTRIES: [&str; 2] = ["NPM_CONFIG_REGISTRY", "JSR_URL"];

/// Variables that lead to the registries of packages.
const WAYS_OUT: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Whose certificates are believed, beyond those that the system believes. The runtime looks when it
/// first needs to know; no function sees them.
pub(crate) const TRUST: [&str; 4] = [
    "DENO_TLS_CA_STORE",
    "DENO_CERT",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// One worker to be.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Path,
    pub(crate) code: &'a Code,
    pub(crate) bootstrap: &'a Path,
    /// The worker's own folder, with room for temporary files.
    pub(crate) folder: &'a Path,
    /// Where the worker is to be asked, in that folder.
    pub(crate) socket: &'a Path,
    pub(crate) denied: &'a [Network],
    pub(crate) heap_bytes: u64,
    /// Room for temporary files.
    pub(crate) scratch_bytes: u64,
    /// Where the function is not known yet: sources of all that it may become.
    pub(crate) candidates: Option<&'a [PathBuf]>,
}

/// A command that serves the function, or waits to be told which one.
pub(crate) fn run(run: &Run<'_>) -> Command {
    let Run {
        code,
        folder,
        socket,
        ..
    } = run;
    let mut address = OsString::from("unix:");
    address.push(socket);
    let roots = run.candidates.unwrap_or(std::slice::from_ref(&code.root));
    let readable = roots.iter().chain(&code.static_files);
    let packages = code.packages();
    let readable = readable.chain([&packages]).map(PathBuf::as_path);
    let trusted = trusted();
    let trusted = trusted.iter().map(PathBuf::as_path);
    let used = [run.program, run.bootstrap].into_iter();
    let used = used.chain(code.paths()).chain(trusted);
    let scratch = Scratch::of(folder, used.chain(readable.clone()));
    let mut command = base(run.program, code);
    command
        .arg("run")
        .args([
            "--quiet",
            "--no-prompt",
            "--cached-only",
            "--no-check",
            "--frozen",
        ])
        .args([
            "--unstable-no-legacy-abort",
            "--allow-env",
            "--allow-import",
            "--allow-net",
        ]);
    resolution(&mut command, code, &code.lock_file());
    let writable = [*socket, scratch.path()];
    command
        .arg(format!("--allow-sys={SYSTEM}"))
        .arg(paths("--allow-read=", readable.chain(writable)))
        // Everything else is not there, as packages expect that look for files.
        .arg("--ignore-read")
        .arg(paths("--allow-write=", writable));
    command.args(networks("--deny-net=", run.denied));
    command.arg(format!(
        "--v8-flags=--max-old-space-size={}",
        (run.heap_bytes >> 20).max(16)
    ));
    match run.candidates {
        None => command
            .arg("--preload")
            .arg(run.bootstrap)
            .arg(&code.entrypoint),
        // The script goes to the function's folder by itself, and imports it.
        Some(_) => command.arg(run.bootstrap).current_dir(folder),
    };
    command
        .env("DENO_SERVE_ADDRESS", address)
        .env("DENO_AUTO_SERVE", "1")
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    scratch.make(&mut command, run.scratch_bytes, code);
    command
}

/// A command that fetches what the function imports, and reads it once.
pub(super) fn cache(program: &Path, code: &Code, denied: &[Network]) -> Command {
    with_network(&["cache", "--no-check"], program, code, denied)
}

/// A command that prints all modules of the function as JSON.
pub(super) fn graph(program: &Path, code: &Code, denied: &[Network]) -> Command {
    with_network(&["info", "--json"], program, code, denied)
}

fn with_network(args: &[&str], program: &Path, code: &Code, denied: &[Network]) -> Command {
    let mut command = base(program, code);
    command
        .args(args)
        .args(["--quiet", "--allow-import"])
        // Else an import could read what the function itself must not.
        .args(networks("--deny-import=", denied));
    resolution(&mut command, code, &code.coming_lock_file());
    command.arg(&code.entrypoint);
    pass_on(&mut command, &WAYS_OUT);
    if let Some(account) = code.account {
        account.take(&mut command);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn base(program: &Path, code: &Code) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("DENO_DIR", &code.deno_dir)
        .env("DENO_NO_UPDATE_CHECK", "1")
        .env("NO_COLOR", "1")
        // The runtime looks for an `.npmrc` there.
        .env("HOME", &code.place)
        .current_dir(code.working_folder())
        // Ctrl-C in a terminal goes to a whole group; we decide when workers go.
        .process_group(0);
    pass_on(&mut command, &REGISTRIES);
    // Whoever has servers of their own has told the system whom to trust.
    command.env("DENO_TLS_CA_STORE", "mozilla,system");
    pass_on(&mut command, &TRUST);
    command
}

/// Files and folders with certificates.
fn trusted() -> Vec<PathBuf> {
    let values = TRUST.iter().filter_map(std::env::var_os);
    let paths = |value| std::env::split_paths(&value).collect::<Vec<_>>();
    values.flat_map(paths).collect()
}

fn pass_on(command: &mut Command, names: &[&str]) {
    for name in names {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// How imports are found: the same when they are fetched and when they are used.
fn resolution(command: &mut Command, code: &Code, lock_file: &Path) {
    let imports = code.imports();
    match &imports {
        ImportMap::Config(config) => command.arg("--config").arg(config),
        ImportMap::Package(_) => command,
        ImportMap::Map(_) | ImportMap::None => command.arg("--no-config"),
    };
    if !matches!(imports, ImportMap::Package(_)) {
        // One further up belongs to the app around the functions.
        command.env("DENO_NO_PACKAGE_JSON", "1");
    }
    command
        .arg("--node-modules-dir=none")
        .arg("--import-map")
        .arg(code.import_map_file())
        .arg("--lock")
        .arg(lock_file);
}

/// Several networks in one argument, if there are any that the runtime knows.
fn networks(flag: &str, networks: &[Network]) -> Option<String> {
    let known: Vec<String> = networks.iter().filter_map(Network::for_runtime).collect();
    (!known.is_empty()).then(|| format!("{flag}{}", known.join(",")))
}

/// Several paths in one argument; a comma in a path is written twice.
fn paths<'a>(flag: &str, paths: impl IntoIterator<Item = &'a Path>) -> OsString {
    let mut text = OsString::from(flag);
    for (index, path) in paths.into_iter().enumerate() {
        if index > 0 {
            text.push(",");
        }
        text.push(path.to_string_lossy().replace(',', ",,"));
    }
    text
}
