//! The command line of the runtime (functions contract §14.2): everything is denied, and what a function
//! needs is allowed again.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    code::{Code, ImportMap},
    network::Network,
    sandbox::Scratch,
};

/// Variables of the runtime itself, which are deleted before the function runs; some of them it sets for
/// itself. `DENO_SERVE_ADDRESS` is deleted when the function serves.
pub(crate) const DELETED_VARIABLES: [&str; 9] = [
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

/// What functions may ask about the machine.
const ALLOWED_SYS: &str = "cpus,osRelease,osUptime,systemMemoryInfo,uid,gid,homedir";

/// Other package registries than the default ones. The cache is keyed by their URLs.
const REGISTRY_VARIABLES: [&str; 2] = ["NPM_CONFIG_REGISTRY", "JSR_URL"];

/// The proxy for the package registries.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Trusted certificates beyond those of the system. The runtime reads them at its first TLS connection;
/// they are hidden from functions.
pub(crate) const TLS_VARIABLES: [&str; 4] = [
    "DENO_TLS_CA_STORE",
    "DENO_CERT",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// What a worker process is started with.
pub(crate) struct RunSpec<'a> {
    pub(crate) program: &'a Path,
    pub(crate) code: &'a Code,
    pub(crate) bootstrap: &'a Path,
    /// The worker's own directory.
    pub(crate) folder: &'a Path,
    /// The socket that it serves on, in that directory.
    pub(crate) socket: &'a Path,
    pub(crate) denied: &'a [Network],
    pub(crate) heap_bytes: u64,
    /// Size of its temporary files.
    pub(crate) scratch_bytes: u64,
    /// For a prewarmed process: the source roots of all functions that it may serve.
    pub(crate) candidates: Option<&'a [PathBuf]>,
}

/// A command that serves the function, or waits for one.
pub(crate) fn run(spec: &RunSpec<'_>) -> Command {
    let code = spec.code;
    let scratch = choose_scratch(spec);
    let mut command = base_command(spec.program, code);
    command.arg("run").args([
        "--quiet",
        "--no-prompt",
        "--cached-only",
        "--no-check",
        "--frozen",
        "--unstable-no-legacy-abort",
    ]);
    set_resolution(&mut command, code, &code.lock_file());
    set_permissions(&mut command, spec, scratch.path());
    command.arg(format!(
        "--v8-flags=--max-old-space-size={}",
        (spec.heap_bytes >> 20).max(16)
    ));
    match spec.candidates {
        None => command
            .arg("--preload")
            .arg(spec.bootstrap)
            .arg(&code.entrypoint),
        // The script changes to the function's directory itself, and imports the function.
        Some(_) => command.arg(spec.bootstrap).current_dir(spec.folder),
    };
    let mut address = OsString::from("unix:");
    address.push(spec.socket);
    command
        .env("DENO_SERVE_ADDRESS", address)
        .env("DENO_AUTO_SERVE", "1")
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (max_bytes, web_caches) = (spec.scratch_bytes, code.web_caches());
    scratch.set_up(&mut command, max_bytes, web_caches, code.account);
    command
}

/// What the function may read, besides its temporary files.
fn readable_paths(spec: &RunSpec<'_>) -> Vec<PathBuf> {
    let code = spec.code;
    let roots = spec.candidates.unwrap_or(std::slice::from_ref(&code.root));
    let sources = roots.iter().chain(&code.static_files).cloned();
    sources.chain([code.packages()]).collect()
}

fn choose_scratch(spec: &RunSpec<'_>) -> Scratch {
    let (readable, certificates) = (readable_paths(spec), certificate_paths());
    let needed = readable.iter().chain(&certificates).map(PathBuf::as_path);
    let needed = needed.chain([spec.program, spec.bootstrap]);
    Scratch::choose(spec.folder, needed.chain(spec.code.paths()))
}

fn set_permissions(command: &mut Command, spec: &RunSpec<'_>, scratch: &Path) {
    let readable = readable_paths(spec);
    let readable = readable.iter().map(PathBuf::as_path);
    let writable = [spec.socket, scratch];
    command
        .args(["--allow-env", "--allow-import", "--allow-net"])
        .args(networks("--deny-net=", spec.denied))
        .arg(format!("--allow-sys={ALLOWED_SYS}"))
        .arg(paths("--allow-read=", readable.chain(writable)))
        // Other files do not exist for it: packages that probe for files take a denial for an error.
        .arg("--ignore-read")
        .arg(paths("--allow-write=", writable));
}

/// A command that fetches and parses what the function imports.
pub(super) fn cache(program: &Path, code: &Code, denied: &[Network]) -> Command {
    with_network(&["cache", "--no-check"], program, code, denied)
}

/// A command that prints all modules of the function as JSON.
pub(super) fn graph(program: &Path, code: &Code, denied: &[Network]) -> Command {
    with_network(&["info", "--json"], program, code, denied)
}

fn with_network(args: &[&str], program: &Path, code: &Code, denied: &[Network]) -> Command {
    let mut command = base_command(program, code);
    command
        .args(args)
        .args(["--quiet", "--allow-import"])
        // Otherwise an import could read what is denied to the function.
        .args(networks("--deny-import=", denied));
    set_resolution(&mut command, code, &code.new_lock_file());
    command.arg(&code.entrypoint);
    inherit_variables(&mut command, &PROXY_VARIABLES);
    if let Some(account) = code.account {
        account.apply_to(&mut command);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn base_command(program: &Path, code: &Code) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("DENO_DIR", &code.deno_dir)
        .env("DENO_NO_UPDATE_CHECK", "1")
        .env("NO_COLOR", "1")
        // Where the runtime looks for an `.npmrc`.
        .env("HOME", &code.work_dir)
        .current_dir(code.current_dir())
        // Ctrl-C in a terminal signals a whole process group; the service shuts workers down itself.
        .process_group(0);
    inherit_variables(&mut command, &REGISTRY_VARIABLES);
    // Certificates of private servers are in the store of the system.
    command.env("DENO_TLS_CA_STORE", "mozilla,system");
    inherit_variables(&mut command, &TLS_VARIABLES);
    command
}

/// Files and folders with certificates.
fn certificate_paths() -> Vec<PathBuf> {
    let values = TLS_VARIABLES.iter().filter_map(std::env::var_os);
    let paths = |value| std::env::split_paths(&value).collect::<Vec<_>>();
    values.flat_map(paths).collect()
}

fn inherit_variables(command: &mut Command, names: &[&str]) {
    for name in names {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// How imports are resolved: the same when they are fetched and when they are run.
fn set_resolution(command: &mut Command, code: &Code, lock_file: &Path) {
    let imports = code.imports();
    match &imports {
        ImportMap::Config(config) => command.arg("--config").arg(config),
        ImportMap::Package(_) => command,
        ImportMap::Map(_) | ImportMap::None => command.arg("--no-config"),
    };
    if !matches!(imports, ImportMap::Package(_)) {
        // One in a parent folder belongs to the app around the functions.
        command.env("DENO_NO_PACKAGE_JSON", "1");
    }
    command
        .arg("--node-modules-dir=none")
        .arg("--import-map")
        .arg(code.import_map_file())
        .arg("--lock")
        .arg(lock_file);
}

/// Several networks in one argument, if there are any that the runtime takes.
fn networks(flag: &str, networks: &[Network]) -> Option<String> {
    let known: Vec<String> = networks
        .iter()
        .filter_map(|network| network.to_deno_argument())
        .collect();
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
