//! The project's folder and the state that a server keeps in it.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::failure::Outcome;

/// A unix socket's path fits into 107 bytes; this leaves room for a longer state folder name.
const LONGEST_SOCKET_PATH: usize = 100;

/// The folder with `supabase/` in it, or the one where the command was given.
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

    /// Where the bytes of files are, unless the settings say otherwise.
    pub(crate) fn files(&self) -> PathBuf {
        self.state.join("files")
    }

    /// Images that were made smaller; nothing is lost with them.
    pub(crate) fn renditions(&self) -> PathBuf {
        self.state.join("renditions")
    }

    /// Whether a server has kept a database of its own here.
    pub(crate) fn has_database(&self) -> bool {
        let is_there = |name| self.state.join(name).exists();
        is_there("database") || is_there("data-location")
    }

    pub(crate) fn instance_key(&self) -> PathBuf {
        self.state.join("instance-key")
    }

    /// Makes the state folder, closed to others and invisible to git.
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

    /// Where the running server listens for `plinth` commands.
    pub(crate) fn control_socket(&self) -> PathBuf {
        let inside = self.state.join("control.sock");
        if inside.as_os_str().len() <= LONGEST_SOCKET_PATH {
            return inside;
        }
        let hash = plinth_token::credential_hash(&self.state.to_string_lossy());
        std::env::temp_dir()
            .join(format!("plinth-control-{}", &hash[..16]))
            .join("control.sock")
    }

    /// Makes sure that nobody else can put a socket of theirs in the place of ours.
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
        Err(anyhow::anyhow!("{} belongs to somebody else; remove it", folder.display()).into())
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

    /// A killed server leaves its notes behind, and its process id may since belong to another
    /// program; the lock ends with its holder.
    fn is_locked(&self) -> bool {
        match fs::File::open(self.state.join("lock")) {
            Ok(file) => matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    pub(crate) fn write_running(&self, running: &Running) -> Outcome {
        write_private(
            &self.running_file(),
            &serde_json::to_string_pretty(running)?,
        )?;
        Ok(())
    }

    pub(crate) fn forget_running(&self) {
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

/// What a server tells the commands that come after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// When that process began, where the system tells: numbers are used again.
    #[serde(default)]
    pub(crate) began: Option<u64>,
    pub(crate) api_url: String,
    pub(crate) control_socket: PathBuf,
}

impl Running {
    /// What this very process tells about itself.
    pub(crate) fn this(api_url: String, control_socket: PathBuf) -> Self {
        let pid = std::process::id();
        let began = ProcessState::of(pid).map(|state| state.began);
        Self {
            pid,
            began,
            api_url,
            control_socket,
        }
    }

    /// Whether that process still lives.
    pub(crate) fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let exists = pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        exists
            && ProcessState::of(self.pid).is_none_or(|state| {
                !state.has_ended && self.began.is_none_or(|began| began == state.began)
            })
    }
}

/// What Linux tells about a process.
struct ProcessState {
    /// It ended, but keeps its number until its parent asks for it, which some never do.
    has_ended: bool,
    /// In ticks since the machine started.
    began: u64,
}

impl ProcessState {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name in parentheses may contain anything, so fields are counted from behind it.
    fn parse(stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        Some(Self {
            has_ended,
            began: fields.nth(18)?.parse().ok()?,
        })
    }
}

/// Two ports that belong together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) database: u16,
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let passing = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&passing)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(passing, path)
}

/// An error without the number that the standard library appends.
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
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let this = Running::this(String::new(), PathBuf::new());
        assert!(this.is_alive());
        let other = Running {
            began: this.began.map(|began| began + 1),
            ..this
        };
        assert_eq!(
            other.is_alive(),
            other.began.is_none(),
            "only where the system tells"
        );
    }

    #[test]
    fn the_state_of_a_process_is_read_behind_its_name() {
        let stat = "7 (a) Z b) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
        let state = ProcessState::parse(stat).expect("a state");
        assert!(state.has_ended);
        assert_eq!(state.began, 4711);
    }
}
