//! Spawning PostgreSQL programs: as the unprivileged user, detached from the terminal, with a clean
//! environment, and killed when Plinth dies.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use plinth_child::die_with_parent;
use rustix::process::Signal;

use crate::account::Account;

/// Variables that programs need to find their libraries. All others, such as `PGDATA` or `LC_ALL`,
/// would change what the programs do.
const KEPT_VARIABLES: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];

/// A command for `program` that runs as `account` (or as ourselves) in `folder`.
///
/// It gets its own process group, because Ctrl-C in a terminal goes to a whole group: Plinth
/// decides when the server stops. `on_our_death` is sent to it when the calling *thread* ends.
pub(crate) fn unprivileged(
    program: impl AsRef<OsStr>,
    account: Option<&Account>,
    folder: &Path,
    on_our_death: Signal,
) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(folder).process_group(0);
    for name in KEPT_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C").env("TZ", "UTC");
    if let Some(account) = account {
        // The standard library drops the supplementary groups together with root.
        command.gid(account.gid).uid(account.uid);
    }
    die_with_parent(&mut command, on_our_death);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_clean_and_the_group_is_new() {
        let mut command = unprivileged("sh", None, Path::new("/"), Signal::KILL);
        command.args([
            "-c",
            "ps -o pgid= -p $$ >/dev/null 2>&1; env; echo pid=$$; pwd",
        ]);

        let output = command.output().unwrap();

        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("LC_ALL=C\n"), "{text}");
        assert!(!text.contains("CARGO"), "{text}");
        assert!(text.ends_with("\n/\n"), "{text}");
    }

    #[test]
    fn root_becomes_another_user() {
        let (true, Some(nobody)) = (
            rustix::process::geteuid().is_root(),
            Account::find("nobody"),
        ) else {
            eprintln!("skipped: only root can become `nobody`");
            return;
        };

        let mut command = unprivileged("id", Some(&nobody), Path::new("/"), Signal::KILL);
        let output = command.output().unwrap();

        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(&format!("uid={}", nobody.uid)), "{text}");
        assert!(!text.contains("0(root)"), "{text}");
    }
}
