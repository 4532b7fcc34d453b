//! The server's configuration: `plinth.conf`, rewritten on each start and included by
//! `postgresql.conf`, the access rules in `pg_hba.conf`, and what is fixed on the command line.
//!
//! The defaults suit a small machine that does other things too: memory grows with the machine but
//! stays modest, and nothing runs in the background that need not. Everything that does not decide
//! who can reach the server or how its log is read can be overridden.

mod connection_slots;
mod machine;
mod overrides;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use connection_slots::ConnectionSlots;
pub use machine::Machine;
pub use overrides::check;

use crate::error::{Error, Result};
use crate::layout::{SocketDir, open_nofollow};

const MIB: u64 = 1024 * 1024;
const INCLUDE: &str = "include = 'plinth.conf'";

/// Only the private socket, only with a password.
const ACCESS_RULES: &str = "\
# Written by Plinth on each start. Only the private socket exists, and it asks for passwords.
local  all          all  scram-sha-256
local  replication  all  scram-sha-256
";

/// What decides the contents of `plinth.conf`.
#[derive(Debug, Clone)]
pub struct Config {
    pub machine: Machine,
    /// The server's major version; newer ones know more settings.
    pub major: u32,
    /// Whether `pg_stat_statements` is installed, and can so be loaded.
    pub has_statement_statistics: bool,
    /// Settings that replace or add to the defaults.
    pub overrides: BTreeMap<String, String>,
}

impl Config {
    /// The text of `plinth.conf`.
    pub fn render(&self) -> Result<String> {
        overrides::check(&self.overrides)?;
        let mut settings = self.defaults();
        let lower = |name: &String| name.to_ascii_lowercase();
        settings.extend(
            self.overrides
                .iter()
                .map(|(name, value)| (lower(name), value.clone())),
        );

        let mut text = "# Written by Plinth on each start: changes here are lost.\n".to_owned();
        for (name, value) in settings {
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            _ = writeln!(text, "{name} = '{value}'");
        }
        // The separator of the log prefix can only be written as an escape, so it stands apart.
        _ = writeln!(text, "log_line_prefix = '{}'", crate::log_line::PREFIX);
        Ok(text)
    }

    /// Writes all configuration files of a data folder.
    pub(crate) fn write(&self, data_dir: &Path) -> Result<()> {
        write(&data_dir.join("plinth.conf"), &self.render()?)?;
        write(&data_dir.join("pg_hba.conf"), ACCESS_RULES)?;

        let main = data_dir.join("postgresql.conf");
        let text = open_nofollow(&main)
            .and_then(io::read_to_string)
            .map_err(|cause| Error::file("read", &main, &cause))?;
        if text.lines().any(|line| line.trim() == INCLUDE) {
            return Ok(());
        }
        write(&main, &format!("{}\n\n{INCLUDE}\n", text.trim_end()))
    }

    fn defaults(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = FIXED_DEFAULTS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);

        let slots = ConnectionSlots::divide(&self.overrides);
        set("max_connections", slots.max.to_string());
        set(
            "superuser_reserved_connections",
            slots.superuser_reserved.to_string(),
        );
        if self.major >= 16 {
            set("reserved_connections", slots.reserved.to_string());
        }

        let memory = self.machine.memory_bytes;
        let megabytes =
            |bytes: u64, least: u64, most: u64| format!("{}MB", (bytes / MIB).clamp(least, most));
        set("shared_buffers", megabytes(memory / 32, 32, 256));
        set(
            "effective_cache_size",
            megabytes(memory / 2, 128, 64 * 1024),
        );
        set("work_mem", megabytes(memory / 1024, 4, 16));
        set("maintenance_work_mem", megabytes(memory / 32, 32, 256));
        set(
            "max_parallel_workers",
            self.machine.cores.clamp(1, 8).to_string(),
        );
        set(
            "max_parallel_workers_per_gather",
            (self.machine.cores / 2).clamp(1, 2).to_string(),
        );
        if self.major >= 18 {
            // Three more processes would sit idle on every small machine.
            set("io_method", "sync".to_owned());
            set("autovacuum_worker_slots", "4".to_owned());
            set("idle_replication_slot_timeout", "1d".to_owned());
        }
        if self.has_statement_statistics {
            set("shared_preload_libraries", "pg_stat_statements".to_owned());
            set("pg_stat_statements.max", "2000".to_owned());
        }
        settings
    }
}

/// Defaults that depend on nothing.
const FIXED_DEFAULTS: [(&str, &str); 27] = [
    ("cluster_name", "plinth"),
    // A client that does not finish its login holds a connection meanwhile.
    ("authentication_timeout", "15s"),
    ("password_encryption", "scram-sha-256"),
    // Realtime reads row changes from the WAL; an abandoned slot must not fill the disk.
    ("wal_level", "logical"),
    ("max_wal_senders", "100"),
    ("max_replication_slots", "100"),
    ("max_slot_wal_keep_size", "1GB"),
    ("min_wal_size", "80MB"),
    ("max_wal_size", "1GB"),
    ("random_page_cost", "1.1"),
    // Compiling costs more than it saves on the short statements of an API.
    ("jit", "off"),
    // Each database is vacuumed once per nap time, and there may be many databases.
    ("autovacuum_naptime", "2min"),
    ("autovacuum_max_workers", "2"),
    ("autovacuum_vacuum_scale_factor", "0.1"),
    ("autovacuum_analyze_scale_factor", "0.05"),
    ("timezone", "UTC"),
    // The log is read by us: from the standard error stream, in English.
    ("log_destination", "stderr"),
    ("logging_collector", "off"),
    ("log_timezone", "UTC"),
    ("lc_messages", "C"),
    ("log_error_verbosity", "default"),
    ("log_checkpoints", "off"),
    ("log_connections", "off"),
    ("log_disconnections", "off"),
    ("log_lock_waits", "on"),
    ("log_temp_files", "10MB"),
    ("log_autovacuum_min_duration", "10s"),
];

/// Settings on the command line win over every file, also over `ALTER SYSTEM`: these decide who
/// can reach the server at all.
pub(crate) fn command_line(data_dir: &Path, socket_dir: &SocketDir) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let settings = [
        ("listen_addresses", String::new()),
        ("port", crate::layout::PORT.to_string()),
        ("unix_socket_directories", quoted(&path(&socket_dir.path))),
        ("unix_socket_permissions", "0700".to_owned()),
        ("hba_file", path(&data_dir.join("pg_hba.conf"))),
    ];
    settings
        .iter()
        .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")])
        .collect()
}

/// The value is a list, in which a comma or a space would begin another folder.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('"', "\"\""))
}

/// Atomic replace. The folder belongs to the PostgreSQL user and we may be root, so an existing file,
/// possibly a planted link, is never written to.
fn write(path: &Path, text: &str) -> Result<()> {
    write_new(path, text).map_err(|cause| Error::file("write", path, &cause))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("conf.new");
    match fs::remove_file(&temporary) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    if rustix::process::geteuid().is_root() {
        let folder = path.parent().unwrap_or(path).metadata()?;
        fchown(&file, Some(folder.uid()), Some(folder.gid()))?;
    }
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(memory_mib: u64, major: u32) -> Config {
        Config {
            machine: Machine {
                memory_bytes: memory_mib * MIB,
                cores: 2,
            },
            major,
            has_statement_statistics: false,
            overrides: BTreeMap::new(),
        }
    }

    fn assert_has(text: &str, line: &str) {
        assert!(
            text.lines().any(|found| found == line),
            "no line `{line}` in:\n{text}"
        );
    }

    #[test]
    fn memory_follows_the_machine_within_bounds() {
        for (memory_mib, expected) in [(512, "32MB"), (2048, "64MB"), (65_536, "256MB")] {
            let text = config(memory_mib, 18).render().unwrap();
            assert_has(&text, &format!("shared_buffers = '{expected}'"));
        }
    }

    #[test]
    fn settings_of_newer_servers_are_not_given_to_older_ones() {
        let (old, new) = (
            config(4096, 15).render().unwrap(),
            config(4096, 18).render().unwrap(),
        );

        assert_has(&new, "io_method = 'sync'");
        assert_has(&new, "idle_replication_slot_timeout = '1d'");
        assert!(!old.contains("io_method"));
        assert!(!old.contains("idle_replication_slot_timeout"));
        assert_has(&old, "wal_level = 'logical'");
    }

    #[test]
    fn an_override_replaces_the_default_and_is_quoted() {
        let mut config = config(4096, 18);
        config
            .overrides
            .insert("Max_Connections".to_owned(), "250".to_owned());
        config
            .overrides
            .insert("search_path".to_owned(), r"it's \ here".to_owned());

        let text = config.render().unwrap();

        assert_has(&text, "max_connections = '250'");
        assert_has(&text, r"search_path = 'it''s \\ here'");
        assert_eq!(text.matches("max_connections").count(), 1);
    }

    #[test]
    fn statement_statistics_are_loaded_only_where_they_exist() {
        let without = config(4096, 18);
        let with = Config {
            has_statement_statistics: true,
            ..without.clone()
        };

        assert!(
            !without
                .render()
                .unwrap()
                .contains("shared_preload_libraries")
        );
        assert_has(
            &with.render().unwrap(),
            "shared_preload_libraries = 'pg_stat_statements'",
        );
    }

    #[test]
    fn the_include_line_is_added_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("postgresql.conf"),
            "max_connections = 100\n",
        )
        .unwrap();

        for _ in 0..2 {
            config(4096, 18).write(folder.path()).unwrap();
        }

        let main = fs::read_to_string(folder.path().join("postgresql.conf")).unwrap();
        assert_eq!(main, "max_connections = 100\n\ninclude = 'plinth.conf'\n");
        let rules = fs::read_to_string(folder.path().join("pg_hba.conf")).unwrap();
        assert!(
            !rules.contains("trust") && !rules.contains("host"),
            "{rules}"
        );
    }

    #[test]
    fn nothing_listens_on_the_network_and_odd_paths_are_quoted() {
        let socket_dir = SocketDir {
            path: "/a b,c/run".into(),
        };

        let arguments = command_line(Path::new("/data"), &socket_dir);

        assert!(arguments.contains(&"listen_addresses=".to_owned()));
        assert!(arguments.contains(&"unix_socket_directories=\"/a b,c/run\"".to_owned()));
        assert!(arguments.contains(&"hba_file=/data/pg_hba.conf".to_owned()));
    }
}
