//! Other names of settings: older ones that are deprecated, and second spellings.

use std::collections::BTreeMap;
use std::path::Path;

use crate::layers::place_in;
use crate::node::{Body, Node};
use crate::path::SettingPath;
use crate::problem::Findings;

/// Another name of a setting, or of a whole section.
struct Alias {
    from: &'static str,
    to: &'static str,
    /// Whether the alias takes precedence where both are written.
    wins: bool,
    warning: Warning,
}

#[derive(PartialEq)]
enum Warning {
    Always,
    /// Older templates contain the name with an empty value.
    UnlessEmpty,
    Never,
}

const ALIASES: &[Alias] = &[
    Alias {
        from: "inbucket",
        to: "local_smtp",
        wins: false,
        warning: Warning::Always,
    },
    // The official template now uses the short names; older files contain the long ones.
    Alias {
        from: "auth.email.enabled",
        to: "auth.email.enable_signup",
        wins: true,
        warning: Warning::Never,
    },
    Alias {
        from: "auth.sms.enabled",
        to: "auth.sms.enable_signup",
        wins: true,
        warning: Warning::Never,
    },
    Alias {
        from: "experimental.orioledb_version",
        to: "db.orioledb_version",
        wins: false,
        warning: Warning::UnlessEmpty,
    },
];

/// Providers that no longer exist under these names.
const RETIRED_PROVIDERS: &[(&str, &str)] =
    &[("linkedin", "linkedin_oidc"), ("slack", "slack_oidc")];

/// The setting that an alias stands for; `None` for a name that is no alias.
pub(crate) fn canonical(path: &SettingPath) -> Option<SettingPath> {
    ALIASES.iter().find_map(|alias| {
        let from = SettingPath::parse(alias.from);
        let rest = path.segments().strip_prefix(from.segments())?;
        let to = SettingPath::parse(alias.to);
        Some(
            to.segments()
                .iter()
                .chain(rest)
                .map(String::as_str)
                .collect(),
        )
    })
}

/// Aliases that name a single setting, as (alias, setting); sections are left out.
pub(crate) fn setting_aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES
        .iter()
        .filter(|alias| alias.from.contains('.'))
        .map(|alias| (alias.from, alias.to))
}

/// Moves values from aliases to the names of their settings, in a document or one of its remotes.
pub(crate) fn normalise(document: &mut Node, prefix: &str, file: &Path, findings: &mut Findings) {
    for alias in ALIASES {
        let Some(node) = remove_at(document, alias.from) else {
            continue;
        };
        let is_empty = node.as_text() == Some("");
        if alias.warning == Warning::Always || alias.warning == Warning::UnlessEmpty && !is_empty {
            let message = format!(
                "{prefix}{} is deprecated; please use {prefix}{}.",
                alias.from, alias.to
            );
            let key = format!("{prefix}{}", alias.from);
            findings.warn(place_in(file, node.line), key, message);
        }
        insert_at(document, alias.to, node, alias.wins);
    }
    for (old, new) in RETIRED_PROVIDERS {
        let path = format!("auth.external.{old}");
        let Some(node) = remove_at(document, &path) else {
            continue;
        };
        if node
            .get_path(["enabled"])
            .is_some_and(|enabled| enabled.body == Body::Bool(true))
        {
            let message = format!(
                "{prefix}{path} no longer exists and is ignored; \
                 please use {prefix}auth.external.{new}."
            );
            findings.warn(
                place_in(file, node.line),
                format!("{prefix}{path}"),
                message,
            );
        }
    }
}

fn remove_at(document: &mut Node, path: &str) -> Option<Node> {
    let (mut parents, last) = split_last(path);
    let table = parents.try_fold(document, |node, name| node.as_table_mut()?.get_mut(name))?;
    table.as_table_mut()?.remove(last)
}

fn insert_at(document: &mut Node, path: &str, node: Node, wins: bool) {
    let (parents, last) = split_last(path);
    let mut table = document;
    for name in parents {
        let Some(entries) = table.as_table_mut() else {
            return;
        };
        table = entries.entry(name.to_owned()).or_insert_with(|| Node {
            line: node.line,
            body: Body::Table(BTreeMap::new()),
        });
    }
    if let Some(entries) = table.as_table_mut()
        && (wins || !entries.contains_key(last))
    {
        entries.insert(last.to_owned(), node);
    }
}

fn split_last(path: &'_ str) -> (impl Iterator<Item = &'_ str>, &'_ str) {
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    (parents.split('.').filter(|name| !name.is_empty()), last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn every_alias_stands_for_something_declared() {
        for alias in ALIASES {
            let to = SettingPath::parse(alias.to);
            let from = SettingPath::parse(alias.from);

            assert!(
                table::find(&to).is_some() || alias.to == "local_smtp",
                "{}",
                alias.to
            );
            assert!(
                table::find(&from).is_none(),
                "{} is declared as well",
                alias.from
            );
        }
    }

    #[test]
    fn a_section_alias_covers_the_keys_inside() {
        let canonical = canonical(&SettingPath::parse("inbucket.port"));

        assert_eq!(canonical, Some(SettingPath::parse("local_smtp.port")));
    }
}
