//! Which PostgreSQL processes run on a data folder. Each has it as its working folder, so a reused
//! pid is not mistaken for one; and its command name is `postgres`, so a shell in that folder is
//! left alone.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Every process of any server on this folder, including backends whose postmaster is gone.
#[cfg(target_os = "linux")]
pub(super) fn processes_in(data_dir: &Path) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(Pid::from_raw)
        .filter(|pid| runs_in(*pid, data_dir))
        .collect()
}

/// Whether the process is a live PostgreSQL process in the folder. A zombie has no working folder.
#[cfg(target_os = "linux")]
pub(super) fn runs_in(pid: Pid, data_dir: &Path) -> bool {
    let about = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    std::fs::read_link(about.join("cwd")).is_ok_and(|folder| folder == data_dir) && is_postgres(pid)
}

/// Whether the process is a PostgreSQL process of any cluster.
#[cfg(target_os = "linux")]
pub(super) fn is_postgres(pid: Pid) -> bool {
    let name = format!("/proc/{}/comm", pid.as_raw_nonzero());
    std::fs::read_to_string(name).is_ok_and(|name| name.trim() == "postgres")
}

/// Without `/proc` only the postmaster can be found, by its pid.
#[cfg(not(target_os = "linux"))]
pub(super) fn processes_in(_data_dir: &Path) -> Vec<Pid> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn runs_in(pid: Pid, data_dir: &Path) -> bool {
    let command = command_of(pid);
    command.contains("postgres") && command.contains(&*data_dir.to_string_lossy())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_postgres(pid: Pid) -> bool {
    command_of(pid).contains("postgres")
}

#[cfg(not(target_os = "linux"))]
fn command_of(pid: Pid) -> String {
    let number = pid.as_raw_nonzero().to_string();
    let output = std::process::Command::new("ps")
        .args(["-ww", "-o", "command=", "-p", &number])
        .output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

/// Sends the signal to each; processes that have exited meanwhile are ignored.
pub(super) fn signal_all(pids: &[Pid], signal: Signal) {
    for pid in pids {
        _ = kill_process(*pid, signal);
    }
}

/// Polls until the condition holds, for at most `limit`. Blocking.
pub(super) fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that waits, under the given name, in the given folder.
    fn wait_as(name: &str, folder: &Path, programs: &Path) -> Child {
        let program = programs.join(name);
        symlink("/bin/cat", &program).unwrap();
        let mut command = Command::new(program);
        command
            .arg0("cat")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        command.spawn().unwrap()
    }

    #[test]
    fn a_server_is_found_by_its_folder_until_it_ends_and_others_are_left_alone() {
        let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().canonicalize().unwrap();
        let mut server = wait_as("postgres", &path, programs.path());
        let mut visitor = wait_as("shell", &path, programs.path());
        let pid = Pid::from_child(&server);

        assert_eq!(processes_in(&path), [pid]);
        assert!(!runs_in(pid, Path::new("/nowhere")));
        assert!(!runs_in(Pid::from_child(&visitor), &path));

        signal_all(&[pid], Signal::KILL);
        // Not reaped yet: a zombie does not count.
        assert!(wait_until(Duration::from_secs(30), || processes_in(&path).is_empty()));
        server.wait().unwrap();
        visitor.kill().unwrap();
        visitor.wait().unwrap();
    }
}
