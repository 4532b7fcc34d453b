//! Servers that a benchmark starts must not outlive it.

use std::{os::unix::process::CommandExt as _, process::Command};

use rustix::process::{Signal, set_parent_process_death_signal};

/// Asks the kernel to send `signal` to the command's process when ours dies. It must be spawned on the main
/// thread: the kernel watches the thread, not the process.
pub(crate) fn die_with_us(command: &mut Command, signal: Signal) {
    // SAFETY: between fork and exec only one system call is made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || Ok(set_parent_process_death_signal(Some(signal))?));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Command, Stdio},
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let starter = thread::spawn(|| {
            let mut command = Command::new("sh");
            command
                .args(["-c", "echo ready; exec sleep 60"])
                .stdout(Stdio::piped());
            die_with_us(&mut command, Signal::TERM);
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            let stdout = child.stdout.as_mut().unwrap();
            BufReader::new(stdout).read_line(&mut line).unwrap();
            (child, line)
        });
        let (mut child, line) = starter.join().unwrap();
        assert_eq!(line, "ready\n");

        let begun = Instant::now();
        let status = child.wait().unwrap();

        assert!(!status.success());
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it slept to the end"
        );
    }
}
