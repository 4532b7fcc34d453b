//! Processes: signals, waiting, and which PostgreSQL works on a folder.

use std::{
    fs,
    path::Path,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

fn pid(number: u32) -> Pid {
    let number = i32::try_from(number).expect("process ids are small");
    Pid::from_raw(number).expect("process ids are positive")
}

/// Sends a signal; a process that is gone already is no failure.
pub(crate) fn kill(number: u32, signal: Signal) {
    _ = kill_process(pid(number), signal);
}

pub(crate) fn is_alive(number: u32) -> bool {
    test_kill_process(pid(number)).is_ok()
}

/// Waits for a child, but not for ever.
pub(crate) fn wait_for_exit(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Every PostgreSQL process whose working folder is this data folder.
pub(crate) fn postgres_processes(data_dir: &Path) -> Vec<u32> {
    let Ok(data_dir) = data_dir.canonicalize() else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == data_dir)
        })
        .collect()
}
