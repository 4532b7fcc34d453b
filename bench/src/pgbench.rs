//! PostgreSQL's own benchmark client, as the peer of our database path.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;

use crate::{managed::Login, work_folder};

/// Where Debian keeps what it does not link into `/usr/bin`.
const SYSTEM_DIRS: &str = "/usr/lib/postgresql";

/// The program, before it knows what to run.
pub(crate) struct Found {
    program: PathBuf,
    version: String,
}

/// What it runs.
pub(crate) struct Script {
    /// One transaction; in prepared mode each `:name` becomes a parameter.
    pub(crate) transaction: String,
    /// The same, failing unless the right row comes back.
    pub(crate) check: String,
    /// What the names stand for.
    pub(crate) values: Vec<(String, String)>,
}

/// The program with a script and a login.
pub(crate) struct Pgbench {
    found: Found,
    values: Vec<(String, String)>,
    login: Login,
    folder: TempDir,
}

/// One run.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample {
    /// Without the time that connecting took.
    pub(crate) per_second: f64,
    pub(crate) mean_ms: f64,
    pub(crate) failed: u64,
    pub(crate) transactions: u64,
}

impl Pgbench {
    /// `PGBENCH`, else the newest installed one, else whatever the path has.
    pub(crate) fn find() -> anyhow::Result<Found> {
        let installed = || newest_in(Path::new(SYSTEM_DIRS));
        let program = env::var_os("PGBENCH").map(PathBuf::from).or_else(installed);
        let program = program.unwrap_or_else(|| "pgbench".into());
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .with_context(|| {
                format!(
                    "{} does not run: install PostgreSQL's client tools",
                    program.display()
                )
            })?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Found { program, version })
    }

    pub(crate) fn version(&self) -> &str {
        &self.found.version
    }

    /// Proves that the script sees its rows.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let output = self
            .command("check.sql")
            .args(["-c", "1", "-t", "50"])
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "pgbench cannot run the script: {complaint}"
        );
        let sample = parse(&String::from_utf8_lossy(&output.stdout))?;
        ensure!(
            sample.failed == 0,
            "pgbench does not see its rows: {complaint}"
        );
        Ok(())
    }

    pub(crate) fn run(
        &self,
        threads: u16,
        connections: u16,
        seconds: u16,
    ) -> anyhow::Result<Sample> {
        let threads = threads.min(connections).to_string();
        let (connections, seconds) = (connections.to_string(), seconds.to_string());
        let output = self
            .command("transaction.sql")
            .args(["-c", &connections, "-j", &threads, "-T", &seconds])
            .output()?;
        if !output.status.success() {
            bail!(
                "pgbench failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        parse(&String::from_utf8_lossy(&output.stdout))
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.found.program);
        command
            .args(["--no-vacuum", "--protocol=prepared", "--file"])
            .arg(self.folder.path().join(script))
            .stdin(Stdio::null());
        for (name, value) in &self.values {
            command.arg(format!("--define={name}={value}"));
        }
        command
            .env("PGHOST", &self.login.socket_dir)
            .env("PGPORT", self.login.port.to_string())
            .env("PGUSER", &self.login.user)
            .env("PGPASSWORD", &self.login.password)
            .env("PGDATABASE", &self.login.database);
        command
    }
}

impl Found {
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn with_script(self, script: Script, login: &Login) -> anyhow::Result<Pgbench> {
        let folder = work_folder::create()?;
        fs::write(folder.path().join("transaction.sql"), script.transaction)?;
        fs::write(folder.path().join("check.sql"), script.check)?;
        Ok(Pgbench {
            found: self,
            values: script.values,
            login: login.clone(),
            folder,
        })
    }
}

/// With `:name` in place of each `$1`.
pub(crate) fn with_names(sql: &str, name: impl Fn(usize) -> String) -> String {
    let mut pieces = sql.split('$');
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        match piece[..digits].parse() {
            Ok(parameter) => named.push_str(&name(parameter)),
            Err(_) => named.push('$'),
        }
        named.push_str(&piece[digits..]);
    }
    named
}

fn newest_in(folder: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(folder).ok()?.flatten();
    let programs = versions.filter_map(|entry| {
        let major: u32 = entry.file_name().to_str()?.parse().ok()?;
        let program = entry.path().join("bin/pgbench");
        program.is_file().then_some((major, program))
    });
    programs.max().map(|(_, program)| program)
}

fn parse(output: &str) -> anyhow::Result<Sample> {
    let number = |label: &str| {
        let rest = output.lines().find_map(|line| line.strip_prefix(label));
        let word = rest.and_then(|rest| rest.split_whitespace().next());
        word.and_then(|word| word.parse::<f64>().ok())
    };
    let wanted = |label: &str| {
        number(label).with_context(|| format!("pgbench does not say \"{label}\":\n{output}"))
    };
    Ok(Sample {
        per_second: wanted("tps =")?,
        mean_ms: wanted("latency average =")?,
        failed: number("number of failed transactions:").unwrap_or(0.0) as u64,
        transactions: transactions(output).unwrap_or(0),
    })
}

/// With a time limit it says `12345`, with a number of transactions `50/50`.
fn transactions(output: &str) -> Option<u64> {
    let label = "number of transactions actually processed:";
    let rest = output.lines().find_map(|line| line.strip_prefix(label))?;
    rest.trim().split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_found_in_its_report() {
        let output = "transaction type: x.sql\nnumber of transactions actually processed: 31243\n\
                      number of failed transactions: 0 (0.000%)\n\
                      latency average = 0.512 ms\ninitial connection time = 7.1 ms\n\
                      tps = 15621.5 (without initial connection time)\n";
        let expected = Sample {
            per_second: 15_621.5,
            mean_ms: 0.512,
            failed: 0,
            transactions: 31_243,
        };
        assert_eq!(parse(output).unwrap(), expected);
        assert!(parse("connection refused").is_err());
        let counted = "number of transactions actually processed: 50/50\n";
        assert_eq!(transactions(counted), Some(50));
    }

    #[test]
    fn parameters_of_two_digits_are_one_parameter() {
        let named = with_names("$1,$12,'$'", |n| format!(":p{n}"));
        assert_eq!(named, ":p1,:p12,'$'");
    }
}
