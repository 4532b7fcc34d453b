//! Running programs, with failures that name what was run.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command with its output on the terminal and nothing to read.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = describe(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("`{name}` could not be started"))?;
    if !status.success() {
        bail!("`{name}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns what it wrote to standard output; errors stay on the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("`{name}` could not be started"))?;
    if !output.status.success() {
        bail!("`{name}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{name}` did not write UTF-8"))
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
    use super::*;

    #[test]
    fn a_failing_command_is_named_as_it_would_be_typed() {
        let Err(error) = run(Command::new("/bin/sh").args(["-c", "exit 4"])) else {
            panic!("the command fails");
        };
        let message = error.to_string();
        assert_eq!(message, "`sh -c exit 4` ended with exit status: 4");
    }
}
