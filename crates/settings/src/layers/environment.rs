//! Environment variables that set a setting: `PLINTH_API_PORT`, `SUPABASE_API_PORT`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::{Layer, Reader};
use crate::aliases;
use crate::declaration::{Declaration, environment_form, environment_names};
use crate::env_reference::Environment;
use crate::keys::{self, MAPS, Members};
use crate::node::Node;
use crate::path::SettingPath;
use crate::problem::{Findings, Place};
use crate::table::{self, Declared};

/// Reads the variables. `known` are the members that other layers name: a variable cannot
/// distinguish `hello-world` from `hello_world`, so a known member with the same form is preferred.
pub(crate) fn read_environment(
    environment: &Environment,
    known: &BTreeSet<SettingPath>,
    findings: &mut Findings,
) -> Layer {
    let mut layer = Layer::default();
    // Later ones win: Plinth's own names over official ones, aliases (newer names) over old names.
    for prefix in ["SUPABASE_", "PLINTH_"] {
        let mut variables: Vec<_> = environment
            .range(prefix.to_owned()..)
            .take_while(|(name, _)| name.starts_with(prefix))
            .filter(|(_, text)| !text.is_empty())
            .filter_map(|(name, text)| match find_setting(name, known) {
                Some(setting) => Some((setting, name, text)),
                None => {
                    warn_about_typo(name, findings);
                    None
                }
            })
            .collect();
        variables.sort_by_key(|(setting, ..)| setting.is_alias);
        for (setting, name, text) in variables {
            let mut reader = Reader {
                place: |_: &Node| Place::Environment(name.clone()),
                prefix: "",
                environment: None,
                findings,
                layer: std::mem::take(&mut layer),
            };
            reader.read_setting(setting.declared, &setting.path, &Node::untyped(text));
            layer = reader.layer;
            layer.members.extend(setting.member);
        }
    }
    layer
}

struct Setting {
    path: SettingPath,
    declared: &'static Declared,
    member: Option<SettingPath>,
    is_alias: bool,
}

/// Variables of settings whose name has no member in it, with the setting and whether it is an
/// alias.
static FIXED: LazyLock<BTreeMap<String, (&'static str, bool)>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for key in keys::all().filter(|key| !key.is_wildcard()) {
        names.extend(environment_names(key.path()).map(|name| (name, (key.path(), false))));
    }
    for (alias, path) in aliases::setting_aliases() {
        names.extend(environment_names(alias).map(|name| (name, (path, true))));
    }
    names
});

fn find_setting(variable: &str, known: &BTreeSet<SettingPath>) -> Option<Setting> {
    if let Some((path, is_alias)) = FIXED.get(variable) {
        let path = SettingPath::parse(path);
        let declared = table::find(&path)?;
        return Some(Setting {
            path,
            declared,
            member: None,
            is_alias: *is_alias,
        });
    }
    // If several patterns match, the one with the longest fixed part wins.
    let (key, middle) = keys::all()
        .filter(|key| key.is_wildcard())
        .flat_map(|key| environment_names(key.path()).map(move |pattern| (key, pattern)))
        .filter_map(|(key, pattern)| {
            let (before, after) = pattern.split_once('*')?;
            let middle = variable.strip_prefix(before)?.strip_suffix(after)?;
            (!middle.is_empty()).then_some((key, middle))
        })
        .min_by_key(|(_, middle)| middle.len())?;
    let member = find_member(key, middle, known)?;
    let (_, last) = key.path().split_once(".*.")?;
    let path = last
        .split('.')
        .fold(member.clone(), |path, segment| path.child(segment));
    let declared = table::find(&path)?;
    Some(Setting {
        path,
        declared,
        member: Some(member),
        is_alias: false,
    })
}

/// The member of a map that the variable part of a name stands for.
fn find_member(
    key: &Declaration,
    middle: &str,
    known: &BTreeSet<SettingPath>,
) -> Option<SettingPath> {
    let (map, _) = key.path().split_once(".*")?;
    let map_path = SettingPath::parse(map);
    let members = MAPS.iter().find(|declared| declared.path == map)?.members;
    if let Members::Known(names) = members {
        let name = names.iter().find(|name| environment_form(name) == middle)?;
        return Some(map_path.child(name));
    }
    let named_elsewhere = known.iter().find(|member| {
        member.parent().as_ref() == Some(&map_path)
            && member
                .segments()
                .last()
                .is_some_and(|name| environment_form(name) == middle)
    });
    if let Some(member) = named_elsewhere {
        return Some(member.clone());
    }
    Some(map_path.child(&middle.to_ascii_lowercase()))
}

/// Warns about a name that is probably a typo of one of ours. Others may belong to other programs.
fn warn_about_typo(variable: &str, findings: &mut Findings) {
    if !variable.starts_with("PLINTH_") {
        return;
    }
    let near = FIXED
        .keys()
        .filter(|name| name.starts_with("PLINTH_"))
        .find(|name| strsim::damerau_levenshtein(variable, name) <= 2);
    if let Some(name) = near {
        let message = format!("no setting has this name; did you mean {name}?");
        findings.warn(Place::Environment(variable.to_owned()), variable, message);
    }
}
