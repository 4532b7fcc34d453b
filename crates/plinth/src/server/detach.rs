//! `plinth start --detach`: the same program in the background, once it runs.

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

const POLL: Duration = Duration::from_millis(20);

pub(super) fn start(global: &Global) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    folder.create_state()?;
    let log_path = folder.state().join("server.log");
    let log = fs::File::create(&log_path)?;
    let arguments = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--detach");
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // A group of its own, so that Ctrl-C in this terminal stays here.
        .process_group(0);
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            let text = fs::read_to_string(&log_path).unwrap_or_default();
            let message = told(&text).unwrap_or_else(|| format!("the server ended with {status}"));
            return Err(Failure::new(Kind::Failure, message)
                .next_step(format!("Its output is in {}.", log_path.display())));
        }
        if let Some(running) = folder.running()
            && running.pid == child.id()
        {
            println!(
                "Plinth runs in the background (pid {}): {}",
                running.pid, running.api_url
            );
            println!("`plinth status` shows keys, `plinth stop` ends it.");
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}

/// What the server said last, which may be several lines.
fn told(log: &str) -> Option<String> {
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
    fn everything_that_the_server_said_last_is_told() {
        let log = "0.1s WARN odd\nplinth: two things are wrong:\n  - one\n  - two\n";
        assert_eq!(
            told(log).as_deref(),
            Some("two things are wrong:\n  - one\n  - two")
        );
        assert_eq!(told("plinth: short\n").as_deref(), Some("short"));
        assert_eq!(told("killed"), None);
    }
}
