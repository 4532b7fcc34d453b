//! Running programs, with failures that name what was run.
//!
//! Steps run on threads of their own, several at a time. What the programs of a step print goes to
//! the step's log file where it has one (`capture`), else straight to the terminal.

use std::{
    cell::RefCell,
    fs::File,
    io::Write,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};

thread_local! {
    static LOG: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Sends what this thread's programs print from now on to a file, or to the terminal.
pub(crate) fn capture(log: Option<File>) {
    LOG.set(log);
}

/// The log file of this thread, for a thread that helps it.
pub(crate) fn log() -> Result<Option<File>> {
    LOG.with_borrow(|log| log.as_ref().map(File::try_clone).transpose())
        .context("the log file is lost")
}

/// Prints a line where this thread's programs print.
pub(crate) fn print(line: &str) -> Result<()> {
    match log()? {
        Some(mut file) => writeln!(file, "{line}").context("the log file cannot be written"),
        None => {
            println!("{line}");
            Ok(())
        }
    }
}

/// Runs a command with nothing to read.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = describe(command);
    let status = command
        .stdin(Stdio::null())
        .stdout(printed()?)
        .stderr(printed()?)
        .status()
        .with_context(|| format!("`{name}` could not be started"))?;
    if !status.success() {
        bail!("`{name}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let (output, ended) = output_and_end(command)?;
    ended.map(|()| output)
}

/// What a command wrote to standard output, and whether it succeeded.
pub(crate) fn output_and_end(command: &mut Command) -> Result<(String, Result<()>)> {
    let name = describe(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(printed()?)
        .output()
        .with_context(|| format!("`{name}` could not be started"))?;
    let text = String::from_utf8(output.stdout);
    let text = text.with_context(|| format!("`{name}` did not write UTF-8"))?;
    let ended = if output.status.success() {
        Ok(())
    } else {
        Err(anyhow!("`{name}` ended with {}", output.status))
    };
    Ok((text, ended))
}

/// Where this thread's programs print to.
pub(crate) fn printed() -> Result<Stdio> {
    Ok(log()?.map_or_else(Stdio::inherit, Stdio::from))
}

/// The command as one would type it.
fn describe(command: &Command) -> String {
    let program = command.get_program();
    let program = std::path::Path::new(program).file_name().unwrap_or(program);
    std::iter::once(program)
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_failing_command_is_named_as_it_would_be_typed() {
        let Err(error) = run(Command::new("/bin/sh").args(["-c", "exit 4"])) else {
            panic!("the command fails");
        };
        let message = error.to_string();
        assert_eq!(message, "`sh -c exit 4` ended with exit status: 4");
    }

    #[test]
    fn both_streams_of_a_captured_thread_go_to_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("step.log");
        let log = File::create(&path).expect("a file");

        let thread = std::thread::spawn(move || {
            capture(Some(log));
            run(Command::new("/bin/sh").args(["-c", "echo out; echo err >&2"]))
        });

        thread.join().expect("no panic").expect("it succeeds");
        assert_eq!(fs::read_to_string(path).expect("written"), "out\nerr\n");
    }
}
