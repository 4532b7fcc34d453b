//! Every third-party crate must be usable under a licence that fits our own.

use anyhow::Result;

use crate::workspace::Workspace;

/// Licences that may be combined with Apache-2.0 in one program. Of alternatives, one suffices.
const ACCEPTED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    // For data, such as the list of root certificates; asks that its text goes along with them.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    // Covers the files it came with, and asks for nothing around them.
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// One sentence for every dependency without an accepted licence.
pub(super) fn problems() -> Result<Vec<String>> {
    let packages = Workspace::load_with_dependencies()?.packages;
    let foreign = packages.iter().filter(|package| package.source.is_some());
    let problems = foreign.filter_map(|package| {
        let licence = package.license.as_deref().unwrap_or("no licence");
        let is_fine = package.license.as_deref().is_some_and(is_accepted);
        (!is_fine).then(|| {
            let (name, version) = (&package.name, &package.version);
            format!("{name} {version} has {licence}, which is not among the accepted licences")
        })
    });
    Ok(problems.collect())
}

/// Whether an SPDX expression can be met with accepted licences alone.
fn is_accepted(expression: &str) -> bool {
    // Older manifests write alternatives with a slash.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    parse_alternatives(&mut rest).is_some_and(|is_accepted| is_accepted && rest.is_empty())
}

/// `conjunction OR conjunction …`; `None` when the expression is malformed.
fn parse_alternatives(rest: &mut &[&str]) -> Option<bool> {
    let mut accepted = parse_conjunction(rest)?;
    while consume_token(rest, "OR") {
        accepted |= parse_conjunction(rest)?;
    }
    Some(accepted)
}

/// `term AND term …`
fn parse_conjunction(rest: &mut &[&str]) -> Option<bool> {
    let mut accepted = parse_term(rest)?;
    while consume_token(rest, "AND") {
        accepted &= parse_term(rest)?;
    }
    Some(accepted)
}

/// A licence, a licence with an exception, or an expression in parentheses.
fn parse_term(rest: &mut &[&str]) -> Option<bool> {
    if consume_token(rest, "(") {
        let accepted = parse_alternatives(rest)?;
        return consume_token(rest, ")").then_some(accepted);
    }
    let (licence, others) = rest.split_first()?;
    *rest = others;
    if consume_token(rest, "WITH") {
        // An exception only ever adds permissions.
        let (_, others) = rest.split_first()?;
        *rest = others;
    }
    Some(ACCEPTED.contains(licence))
}

fn consume_token(rest: &mut &[&str], token: &str) -> bool {
    let is_next = rest.first() == Some(&token);
    if is_next {
        *rest = &rest[1..];
    }
    is_next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: bool) {
        assert_eq!(is_accepted(expression), expected, "{expression}");
    }

    #[test]
    fn single_licences() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("mit", false);
    }

    #[test]
    fn one_accepted_alternative_suffices() {
        check("Unlicense OR MIT", true);
        check("MIT/Apache-2.0", true);
        check("Apache-2.0 / MIT", true);
        check("GPL-2.0-only OR AGPL-3.0-only", false);
    }

    #[test]
    fn every_conjunct_must_be_accepted() {
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("MIT AND GPL-3.0-only", false);
        check("ISC AND (Apache-2.0 OR ISC) AND (OpenSSL OR MIT-0)", false);
    }

    #[test]
    fn and_binds_stronger_than_or() {
        check("MIT OR GPL-3.0-only AND ISC", true);
        check("GPL-3.0-only AND ISC OR Zlib", true);
        check("GPL-3.0-only AND (ISC OR Zlib)", false);
    }

    #[test]
    fn exceptions_add_permissions() {
        check("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true);
        check("GPL-2.0-only WITH Classpath-exception-2.0", false);
    }

    #[test]
    fn malformed_expressions_are_rejected() {
        for expression in [
            "", "MIT OR", "(MIT", "MIT)", "MIT ISC", "AND MIT", "MIT WITH",
        ] {
            check(expression, false);
        }
    }
}
