//! `plinth start --detach`: starts the server in the background and waits until it is ready.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    cli::Global,
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn start(global: &Global) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    // Before its log is begun anew.
    if is_running(&folder) {
        return Ok(());
    }
    folder.create_state()?;
    let _lock = folder.lock_start()?;
    // Another one may have been started meanwhile.
    if is_running(&folder) {
        return Ok(());
    }
    if folder.is_locked() {
        let message = format!(
            "another server is starting or stopping in {}",
            folder.state().display()
        );
        return Err(Failure::new(Kind::Failure, message).next_step("Try again in a moment."));
    }
    let log_path = folder.state().join("server.log");
    fs::File::create(&log_path)?;
    let log = fs::File::options().append(true).open(&log_path)?;
    let arguments = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--detach");
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // In its own process group, so that Ctrl-C in this terminal does not reach it.
        .process_group(0);
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            let text = fs::read_to_string(&log_path).unwrap_or_default();
            let message =
                error_message(&text).unwrap_or_else(|| format!("the server ended with {status}"));
            return Err(Failure::new(Kind::Failure, message)
                .next_step(format!("Its output is in {}.", log_path.display())));
        }
        if let Some(running) = folder.running()
            && running.pid == child.id()
        {
            let text = fs::read_to_string(&log_path).unwrap_or_default();
            for warning in warnings(&text) {
                eprintln!("warning: {warning}");
            }
            println!(
                "Plinth runs in the background (pid {}): {}",
                running.pid, running.api_url
            );
            println!("`plinth status` shows keys, `plinth stop` ends it.");
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Says where the server is, if one runs.
fn is_running(folder: &Folder) -> bool {
    let Some(running) = folder.running() else {
        return false;
    };
    println!(
        "Plinth is already running (pid {}): {}",
        running.pid, running.api_url
    );
    println!("`plinth status` shows keys, `plinth stop` ends it.");
    true
}

/// What the server has warned about so far, which would otherwise stay in its log.
fn warnings(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|line| {
        let (time, rest) = line.trim_start().split_once(' ')?;
        let is_time = time.ends_with('s') && time.starts_with(|first: char| first.is_ascii_digit());
        let message = rest.trim_start().strip_prefix("WARN ")?;
        is_time.then(|| message.trim())
    })
}

/// The server's error message at the end of its log, which may have several lines.
fn error_message(log: &str) -> Option<String> {
    let start = match log.rfind("\nplinth: ") {
        Some(at) => at + 1,
        None => 0,
    };
    log[start..]
        .strip_prefix("plinth: ")
        .map(|text| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_message_is_found() {
        let log = "0.1s WARN odd\nplinth: two things are wrong:\n  - one\n  - two\n";
        assert_eq!(
            error_message(log).as_deref(),
            Some("two things are wrong:\n  - one\n  - two")
        );
        assert_eq!(error_message("plinth: short\n").as_deref(), Some("short"));
        assert_eq!(error_message("killed"), None);
    }

    #[test]
    fn warnings_are_found_among_other_lines() {
        let log = "   0.012s  WARN unknown setting: a.b\n   0.1s  INFO a WARN b\n12.3s WARN two  \n\
                   a line of somebody WARN else\n WARN\n";
        let found: Vec<&str> = warnings(log).collect();
        assert_eq!(found, ["unknown setting: a.b", "two"]);
    }
}
