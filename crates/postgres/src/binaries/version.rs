//! Which PostgreSQL this is, as `postgres --version` says.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result, plain};

/// A PostgreSQL version such as `18.4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    /// The number as the server prints it, without the packager's additions.
    pub text: String,
}

impl Version {
    pub(super) fn read(bin_dir: &Path) -> Result<Self> {
        let broken = |reason| Error::BinariesBroken {
            bin_dir: bin_dir.to_owned(),
            reason,
        };
        let output = Command::new(bin_dir.join("postgres"))
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|cause| broken(plain(&cause)))?;

        let printed = String::from_utf8_lossy(&output.stdout);
        Self::parse(&printed).ok_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let first = complaint
                .lines()
                .next()
                .unwrap_or("`postgres --version` says nothing");
            broken(first.trim_end_matches('.').to_owned())
        })
    }

    /// Reads `postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)`, `… 18.4` and `… 19beta1`.
    fn parse(printed: &str) -> Option<Self> {
        let text = printed
            .split_once("(PostgreSQL)")?
            .1
            .split_whitespace()
            .next()?;
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        Some(Self {
            major: digits.parse().ok()?,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, expected: Option<(u32, &str)>) {
        let expected = expected.map(|(major, text)| Version {
            major,
            text: text.to_owned(),
        });
        assert_eq!(Version::parse(printed), expected);
    }

    #[test]
    fn versions_are_read_in_every_packaging() {
        check("postgres (PostgreSQL) 18.4\n", Some((18, "18.4")));
        check(
            "postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)\n",
            Some((15, "15.19")),
        );
        check("postgres (PostgreSQL) 19beta1\n", Some((19, "19beta1")));
        check("postgres (EnterpriseDB) 9.6\n", None);
        check("", None);
    }
}
