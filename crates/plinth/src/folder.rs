//! The project's folder and the server's state folder in it.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Kind, Outcome};

/// Paths of unix sockets are limited to 107 bytes; this leaves some space.
const MAX_SOCKET_PATH_BYTES: usize = 100;

/// The folder with `supabase/` in it, or the current one.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) root: PathBuf,
    state: PathBuf,
}

impl Folder {
    /// `--workdir` decides; else the nearest folder upwards with a `supabase/config.toml`.
    pub(crate) fn find(workdir: Option<&Path>, state: Option<&Path>) -> Outcome<Self> {
        let here = match workdir {
            Some(folder) => fs::canonicalize(folder).map_err(|error| {
                anyhow::anyhow!("the folder {} cannot be used: {error}", folder.display())
            })?,
            None => std::env::current_dir()?,
        };
        let root = plinth_settings::find_project_folder(&here).unwrap_or(here);
        let state = match state {
            Some(state) => std::path::absolute(state)?,
            None => root.join(".plinth"),
        };
        Ok(Self { root, state })
    }

    /// `.plinth/`: database, keys, logs.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    pub(crate) fn migrations(&self) -> PathBuf {
        self.root.join("supabase/migrations")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// Default folder of blobs.
    pub(crate) fn files(&self) -> PathBuf {
        self.state.join("files")
    }

    /// Cache of transformed images.
    pub(crate) fn renditions(&self) -> PathBuf {
        self.state.join("renditions")
    }

    /// Whether there is a managed database.
    pub(crate) fn has_database(&self) -> bool {
        let is_there = |name| self.state.join(name).exists();
        is_there("database") || is_there("data-location")
    }

    /// Servers of isolated projects, one folder each.
    pub(crate) fn isolated(&self) -> PathBuf {
        self.state.join("isolated")
    }

    pub(crate) fn instance_key(&self) -> PathBuf {
        self.state.join("instance-key")
    }

    /// Creates the state folder with mode 0700 and a `.gitignore`.
    pub(crate) fn create_state(&self) -> Outcome {
        let explain = |error: io::Error| {
            anyhow::anyhow!(
                "cannot write to {}: {}",
                self.state.display(),
                plain(&error)
            )
        };
        if !self.state.is_dir() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.state)
                .map_err(explain)?;
        }
        let ignore = self.state.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(explain)?;
        }
        Ok(())
    }

    /// Path of the control socket.
    pub(crate) fn control_socket(&self) -> PathBuf {
        let inside = self.state.join("control.sock");
        if inside.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
            return inside;
        }
        let hash = plinth_token::credential_hash(&self.state.to_string_lossy());
        std::env::temp_dir()
            .join(format!("plinth-control-{}", &hash[..16]))
            .join("control.sock")
    }

    /// Makes sure that no other user can replace the socket.
    pub(crate) fn prepare_control_folder(&self) -> Outcome {
        use std::os::unix::fs::MetadataExt;
        let socket = self.control_socket();
        let Some(folder) = socket.parent().filter(|folder| *folder != self.state) else {
            return Ok(());
        };
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let found = fs::symlink_metadata(folder)?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if is_ours && found.mode() & 0o077 == 0 {
            return Ok(());
        }
        Err(anyhow::anyhow!("{} belongs to another user; remove it", folder.display()).into())
    }

    fn running_file(&self) -> PathBuf {
        self.state.join("running.json")
    }

    /// The server that runs here now.
    pub(crate) fn running(&self) -> Option<Running> {
        let text = fs::read_to_string(self.running_file()).ok()?;
        let running: Running = serde_json::from_str(&text).ok()?;
        (running.is_alive() && self.is_locked()).then_some(running)
    }

    /// Fails if a server runs here.
    pub(crate) fn ensure_not_running(&self) -> Outcome {
        match self.running() {
            None => Ok(()),
            Some(running) => Err(Failure::new(
                Kind::Failure,
                format!(
                    "Plinth is already running for {} (pid {}): {}",
                    self.root.display(),
                    running.pid,
                    running.api_url
                ),
            )
            .next_step("`plinth status` shows its keys, `plinth stop` ends it.")),
        }
    }

    /// Whether a server is starting, running or stopping here. A killed server leaves `running.json`
    /// behind, and its pid may have been reused; the lock is released with its process.
    pub(crate) fn is_locked(&self) -> bool {
        match fs::File::open(self.state.join("lock")) {
            Ok(file) => matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    /// Waits for others that start a server in the background here. Held from before the first look
    /// until the server has said where it is.
    pub(crate) fn lock_start(&self) -> Outcome<fs::File> {
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(self.state.join("start-lock"))?;
        file.lock()?;
        Ok(file)
    }

    pub(crate) fn write_running(&self, running: &Running) -> Outcome {
        write_private(
            &self.running_file(),
            &serde_json::to_string_pretty(running)?,
        )?;
        Ok(())
    }

    pub(crate) fn remove_running(&self) {
        _ = fs::remove_file(self.running_file());
    }

    fn ports_file(&self) -> PathBuf {
        self.state.join("ports.json")
    }

    /// Ports that `--port auto` took before.
    pub(crate) fn remembered_ports(&self) -> Option<Ports> {
        serde_json::from_str(&fs::read_to_string(self.ports_file()).ok()?).ok()
    }

    pub(crate) fn remember_ports(&self, ports: &Ports) -> Outcome {
        write_private(&self.ports_file(), &serde_json::to_string(ports)?)?;
        Ok(())
    }
}

/// `running.json`: how commands find the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// Start time of the process, where known, because pids are reused.
    #[serde(default)]
    pub(crate) began: Option<u64>,
    /// As it is printed.
    pub(crate) api_url: String,
    pub(crate) control_socket: PathBuf,
}

impl Running {
    /// Describes the current process.
    pub(crate) fn current_process(api_url: String, control_socket: PathBuf) -> Self {
        let pid = std::process::id();
        let began = ProcessState::read(pid).map(|state| state.began);
        Self {
            pid,
            began,
            api_url,
            control_socket,
        }
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let exists = pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        exists
            && ProcessState::read(self.pid).is_none_or(|state| {
                !state.has_ended && self.began.is_none_or(|began| began == state.began)
            })
    }
}

/// From `/proc/<pid>/stat`.
struct ProcessState {
    /// A zombie, which its parent has not reaped.
    has_ended: bool,
    /// In clock ticks since boot.
    began: u64,
}

impl ProcessState {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The process name in parentheses may contain anything, so parsing starts after it.
    fn parse(stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        Some(Self {
            has_ended,
            began: fields.nth(18)?.parse().ok()?,
        })
    }
}

/// Ports of API and database.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) database: u16,
}

/// Writes a file of mode 0600 atomically.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let temporary = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

/// An error without the number that the standard library appends (`(os error 2)`).
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_recognised() {
        let this = Running::current_process(String::new(), PathBuf::new());
        assert!(this.is_alive());
        let other = Running {
            began: this.began.map(|began| began + 1),
            ..this
        };
        assert_eq!(
            other.is_alive(),
            other.began.is_none(),
            "only where the start time is known"
        );
    }

    #[test]
    fn the_state_of_a_process_is_parsed_after_its_name() {
        let stat = "7 (a) Z b) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
        let state = ProcessState::parse(stat).expect("a state");
        assert!(state.has_ended);
        assert_eq!(state.began, 4711);
    }
}
