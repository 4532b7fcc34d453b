//! What can be typed after `cargo xtask conformance`, and the variables that say the same.

use std::{env, fmt, path::PathBuf};

use anyhow::{Context, Result, bail};

pub(super) const HELP: &str = "\
cargo xtask conformance rest|storage|webauthn [options]

Runs suites of the originals against this Plinth: for rest PostgREST's own specification suite and
postgrest-js's own tests, for storage those of storage-js, for webauthn the test vectors of the
W3C specification, which needs no PostgreSQL.
Exit codes: 0 all that ran reached the minimum, 1 one did not, 2 something is missing.

  --suite spec|clients   Only one of the two of rest.
  --min PERCENT          Least share of cases that must pass (99).
  --harness DIR          The harness of the specification suite ($PLINTH_POSTGREST_SPEC).
  --source DIR           A git directory of PostgREST ($POSTGREST_SOURCE).
  --rev REV              The revision of PostgREST (v16.2).
  --clients DIR          A git directory of supabase-js ($SUPABASE_JS_SOURCE).
  --clients-rev REV      The revision of supabase-js (HEAD).
  --spec FILE            The source of the WebAuthn specification, index.bs of w3c/webauthn
                         ($PLINTH_WEBAUTHN_SPEC).
  --pg-bin DIR           Programs of a PostgreSQL with PostGIS ($PG_BIN, else Debian's newest).
  --pg-user NAME         Whom the harness runs PostgreSQL as when root starts it (postgres).
";

/// A suite of an original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suite {
    Spec,
    PostgrestJs,
    StorageJs,
    WebAuthn,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spec => "PostgREST's specification suite",
            Self::PostgrestJs => "postgrest-js's own tests",
            Self::StorageJs => "storage-js's own tests",
            Self::WebAuthn => "WebAuthn's test vectors",
        })
    }
}

#[derive(Debug)]
pub(super) struct Options {
    suites: Vec<Suite>,
    pub(super) min: f64,
    pub(super) harness: Option<PathBuf>,
    pub(super) source: Option<PathBuf>,
    pub(super) rev: String,
    pub(super) clients: Option<PathBuf>,
    pub(super) clients_rev: String,
    pub(super) spec: Option<PathBuf>,
    pub(super) pg_bin: Option<PathBuf>,
    pub(super) pg_user: String,
}

impl Options {
    /// `None` when help was asked for.
    pub(super) fn parse(arguments: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            suites: Vec::new(),
            min: 99.0,
            harness: from_env("PLINTH_POSTGREST_SPEC"),
            source: from_env("POSTGREST_SOURCE"),
            rev: "v16.2".to_owned(),
            clients: from_env("SUPABASE_JS_SOURCE"),
            clients_rev: "HEAD".to_owned(),
            spec: from_env("PLINTH_WEBAUTHN_SPEC"),
            pg_bin: from_env("PG_BIN"),
            pg_user: "postgres".to_owned(),
        };
        let Some((service, mut rest)) = arguments.split_first() else {
            return Ok(None);
        };
        options.suites = match service.as_str() {
            "rest" => vec![Suite::Spec, Suite::PostgrestJs],
            "storage" => vec![Suite::StorageJs],
            "webauthn" => vec![Suite::WebAuthn],
            "-h" | "--help" => return Ok(None),
            other => bail!(
                "there is no suite for {other:?}; there are some for rest, storage and webauthn"
            ),
        };
        while let Some((name, more)) = rest.split_first() {
            if matches!(name.as_str(), "-h" | "--help") {
                return Ok(None);
            }
            let (value, more) = more
                .split_first()
                .with_context(|| format!("{name} is unknown or lacks its value"))?;
            options.set(name, value)?;
            rest = more;
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--suite" => {
                let is_wanted: fn(&Suite) -> bool = match value {
                    "spec" => |suite| *suite == Suite::Spec,
                    "clients" => |suite| *suite != Suite::Spec,
                    other => bail!("--suite is spec or clients, not {other:?}"),
                };
                self.suites.retain(is_wanted);
            }
            "--min" => self.min = value.parse().context("--min is a number of percent")?,
            "--harness" => self.harness = Some(value.into()),
            "--source" => self.source = Some(value.into()),
            "--rev" => self.rev = value.to_owned(),
            "--clients" => self.clients = Some(value.into()),
            "--clients-rev" => self.clients_rev = value.to_owned(),
            "--spec" => self.spec = Some(value.into()),
            "--pg-bin" => self.pg_bin = Some(value.into()),
            "--pg-user" => self.pg_user = value.to_owned(),
            other => bail!("there is no option {other}; --help names them"),
        }
        Ok(())
    }

    pub(super) fn suites(&self) -> &[Suite] {
        &self.suites
    }
}

fn from_env(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn both_suites_run_unless_one_is_named() {
        let all = parse("rest").expect("valid").expect("no help");
        let one = parse("rest --suite clients --min 50")
            .expect("valid")
            .expect("no help");
        let files = parse("storage").expect("valid").expect("no help");
        let vectors = parse("webauthn --spec index.bs")
            .expect("valid")
            .expect("no help");
        assert_eq!(all.suites(), [Suite::Spec, Suite::PostgrestJs]);
        assert_eq!((all.min, all.rev.as_str()), (99.0, "v16.2"));
        assert_eq!(one.suites(), [Suite::PostgrestJs]);
        assert_eq!(files.suites(), [Suite::StorageJs]);
        assert_eq!(vectors.suites(), [Suite::WebAuthn]);
        assert_eq!(vectors.spec, Some("index.bs".into()));
        assert_eq!(one.min, 50.0);
    }

    #[test]
    fn what_makes_no_sense_is_rejected_in_a_sentence() {
        for (line, expected) in [
            (
                "auth",
                "there is no suite for \"auth\"; there are some for rest, storage and webauthn",
            ),
            (
                "rest --suite both",
                "--suite is spec or clients, not \"both\"",
            ),
            (
                "rest --speed 3",
                "there is no option --speed; --help names them",
            ),
            ("rest --rev", "--rev is unknown or lacks its value"),
            ("webauthn --spec", "--spec is unknown or lacks its value"),
        ] {
            let error = parse(line).expect_err("it makes no sense");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn help_is_given_when_asked_for_or_nothing_is_said() {
        for line in ["", "--help", "rest --min 3 --help"] {
            assert!(parse(line).expect("valid").is_none(), "{line}");
        }
    }
}
