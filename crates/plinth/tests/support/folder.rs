//! A project folder that goes away with the test, and with it whatever still runs on it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use plinth_testkit::folder_with_space;
use rustix::process::Signal;
use tempfile::TempDir;

use super::{Ended, eventually, kill, plinth, postgres_processes, run_to_end};

/// Longer than any command may take, also on a busy machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// What the databases of all tests that run at a time fill.
const DATABASES: u64 = 4 << 30;

/// A folder of one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// Everybody may enter it: where the tests run as root, PostgreSQL runs as another user.
    pub(crate) fn new() -> Self {
        Self::named("plinth-test-")
    }

    pub(super) fn named(prefix: &str) -> Self {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix(prefix)
            .tempdir_in(folder_with_space(DATABASES));
        let folder = folder.expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self(folder)
    }

    /// A folder that has these files below `supabase/`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(&format!("supabase/{path}"), text);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of a file");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".plinth")
    }

    /// Where the managed database is.
    pub(crate) fn data_dir(&self) -> PathBuf {
        let home = fs::read_to_string(self.state().join("data-location"))
            .map_or_else(|_| self.state(), |text| PathBuf::from(text.trim()));
        home.join("database")
    }

    /// The managed postmaster, as its pid file names it.
    pub(crate) fn postmaster(&self) -> Option<u32> {
        let text = fs::read_to_string(self.data_dir().join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// No PostgreSQL works here, or ends within a moment.
    pub(crate) fn expect_no_postgres(&self) {
        eventually(Duration::from_secs(10), "PostgreSQL is gone", || {
            postgres_processes(&self.data_dir())
                .is_empty()
                .then_some(())
        });
    }

    /// `plinth …` for this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = plinth();
        command
            .args(args)
            .arg("--workdir")
            .arg(self.path())
            .current_dir("/");
        command
    }

    pub(crate) fn cli(&self, args: &[&str]) -> Ended {
        run_to_end(&mut self.command(args), None, COMMAND_LIMIT)
    }

    pub(crate) fn cli_with_input(&self, args: &[&str], input: &str) -> Ended {
        run_to_end(&mut self.command(args), Some(input), COMMAND_LIMIT)
    }

    /// A start that must not come up.
    pub(crate) fn start_failing(&self, args: &[&str]) -> Ended {
        let args = [&["start", "--port", "auto"], args].concat();
        let ended = self.cli(&args);
        assert!(
            ended.code.is_some_and(|code| code != 0),
            "it came up: {ended:?}"
        );
        self.expect_no_postgres();
        ended
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only processes whose working folder is this very data folder.
        for pid in postgres_processes(&self.data_dir()) {
            kill(pid, Signal::KILL);
        }
        if let Ok(outside) = fs::read_to_string(self.state().join("data-location")) {
            _ = fs::remove_dir_all(outside.trim());
        }
    }
}
