//! How far a build is, for those who wait for it.
//!
//! In a terminal cargo draws a bar of its own. Where there is none (a log, a container), it would
//! only name crate after crate, so its counts are printed from time to time.

use std::{
    io::{BufReader, IsTerminal, Read, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::report::Seconds;

/// How often a line is printed.
const INTERVAL: Duration = Duration::from_secs(20);

/// Runs a `cargo build`.
pub(crate) fn build(cargo: &mut Command) -> Result<()> {
    if std::io::stderr().is_terminal() {
        return crate::commands::run(cargo);
    }
    let mut child = cargo
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "120")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo could not be started")?;
    let stderr = child.stderr.take().context("cargo has an output")?;
    print_progress(stderr, std::io::stdout(), INTERVAL).context("cargo's output is lost")?;
    let status = child.wait().context("cargo is lost")?;
    if !status.success() {
        bail!("the build ended with {status}");
    }
    Ok(())
}

/// Reads what cargo draws, and writes counts, warnings and errors.
fn print_progress(
    stderr: impl Read,
    mut output: impl Write,
    interval: Duration,
) -> std::io::Result<()> {
    let started = Instant::now();
    let mut printed: Option<Instant> = None;
    let mut line = Vec::new();
    for byte in BufReader::new(stderr).bytes() {
        match byte? {
            b'\n' | b'\r' => {
                let text = String::from_utf8_lossy(&line).into_owned();
                line.clear();
                if let Some((done, total)) = counts(&text) {
                    let is_due = printed.is_none_or(|at| at.elapsed() >= interval);
                    if is_due {
                        let elapsed = Seconds(started.elapsed());
                        writeln!(
                            output,
                            "        {done} of {total} crates compiled ({elapsed})"
                        )?;
                        printed = Some(Instant::now());
                    }
                } else if !is_noise(&text) {
                    writeln!(output, "{text}")?;
                }
            }
            byte => line.push(byte),
        }
    }
    Ok(())
}

/// The counts of `Building [=====>     ] 12/345: name, name`.
fn counts(line: &str) -> Option<(u32, u32)> {
    let (before, after) = line.split_once("] ")?;
    if !before.contains("Building") {
        return None;
    }
    let (done, rest) = after.split_once('/')?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((done.trim().parse().ok()?, digits.parse().ok()?))
}

/// Names of crates, and what erases a drawn line.
fn is_noise(line: &str) -> bool {
    let text = line.trim_start_matches("\u{1b}[K").trim();
    let verbs = [
        "Compiling",
        "Downloaded",
        "Downloading",
        "Fetch",
        "Blocking",
    ];
    text.is_empty() || verbs.iter().any(|verb| text.starts_with(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWN: &str = "   Compiling libc v0.2\n\
        \u{1b}[K    Building [>        ]   1/437: libc(build.rs)\r\
        \u{1b}[K   Compiling syn v2\n    Building [====>    ] 218/437: syn, plinth-auth\r\
        warning: unused variable\n\u{1b}[K    Finished in 3s\n";

    fn printed(interval: Duration) -> String {
        let mut output = Vec::new();
        print_progress(DRAWN.as_bytes(), &mut output, interval).expect("readable");
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn counts_are_printed_and_names_of_crates_are_not() {
        let text = printed(Duration::ZERO);
        assert!(text.contains("1 of 437 crates compiled"), "{text}");
        assert!(text.contains("218 of 437 crates compiled"), "{text}");
        assert!(!text.contains("Compiling"), "{text}");
        assert!(text.contains("warning: unused variable"), "{text}");
    }

    #[test]
    fn counts_are_printed_now_and_then() {
        let text = printed(Duration::from_secs(60));
        assert_eq!(text.matches("crates compiled").count(), 1, "{text}");
    }
}
