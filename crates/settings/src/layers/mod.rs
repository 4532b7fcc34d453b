//! The layers that make up the settings. Each reads what is written in one place into checked
//! values; [`crate::loader`] stacks them.

mod environment;
mod file;
mod flat;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::env_reference::{self, Environment};
use crate::node::Node;
use crate::path::SettingPath;
use crate::problem::{Findings, Place};
use crate::table::{self, Cursor, Declared, Step};
use crate::value::Value;

pub(crate) use environment::read_environment;
pub(crate) use file::read_file;
pub(crate) use flat::{read_command_line, read_stored};

/// What one place says, checked.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) values: BTreeMap<SettingPath, Entry>,
    /// Members of maps, also those that say nothing else, such as an empty `[functions.hello]`.
    pub(crate) members: BTreeSet<SettingPath>,
    /// References to variables that are not set, by the setting that has one.
    pub(crate) unset: BTreeMap<SettingPath, (Place, Vec<String>)>,
}

/// A checked value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// The place of a line in a file.
pub(crate) fn place_in(file: &Path, line: Option<usize>) -> Place {
    Place::File {
        path: file.to_owned(),
        line,
        column: None,
    }
}

/// Reads nested tables. `P` tells the place of a node; a prefix goes before names in messages.
struct Reader<'a, P> {
    place: P,
    prefix: &'a str,
    /// Where `env(NAME)` is looked up; absent in places that may not use it.
    environment: Option<&'a Environment>,
    findings: &'a mut Findings,
    layer: Layer,
}

impl<P: Fn(&Node) -> Place> Reader<'_, P> {
    /// Reads what stands at a position of the tree: a setting, or a table of more.
    fn read(&mut self, cursor: &Cursor, path: &SettingPath, node: &Node) {
        if let Some(declared) = cursor.declared() {
            return self.read_setting(declared, path, node);
        }
        let Some(entries) = node.as_table() else {
            let message = format!("{}{path} must be a table.", self.prefix);
            let place = (self.place)(node);
            return self.findings.error(place, self.name(path), message);
        };
        for (name, entry) in entries {
            let child = path.child(name);
            match cursor.step(name) {
                Step::Known(next) => {
                    if cursor.is_map() {
                        self.layer.members.insert(child.clone());
                    }
                    self.read(&next, &child, entry);
                }
                Step::Unknown => {
                    let hint = hint(path, cursor, name);
                    let message = format!("unknown key {}{child} is ignored{hint}", self.prefix);
                    self.findings
                        .warn((self.place)(entry), self.name(&child), message);
                }
                Step::Misnamed(expected) => {
                    let message = format!(
                        "{}{child} has a name that is not allowed; expected {expected}.",
                        self.prefix
                    );
                    self.findings
                        .error((self.place)(entry), self.name(&child), message);
                }
            }
        }
    }

    fn read_setting(&mut self, declared: &Declared, path: &SettingPath, node: &Node) {
        let place = (self.place)(node);
        let followed;
        let node = match self.environment {
            None => node,
            Some(environment) => {
                followed = env_reference::follow(node, environment);
                if !followed.unset.is_empty() {
                    let unset = (place.clone(), followed.unset);
                    self.layer.unset.insert(path.clone(), unset);
                }
                match &followed.node {
                    Some(node) => node,
                    None => return,
                }
            }
        };
        // A setting without a default is optional, and empty text is how files leave it out.
        if declared.default.is_none() && node.as_text() == Some("") {
            return;
        }
        match declared.key.kind().read(node) {
            Some(value) => {
                self.layer
                    .values
                    .insert(path.clone(), Entry { value, place });
            }
            None => {
                let message = wrong_value(self.prefix, declared, path, node);
                self.findings.error(place, self.name(path), message);
            }
        }
    }

    fn name(&self, path: &SettingPath) -> String {
        format!("{}{path}", self.prefix)
    }
}

fn wrong_value(prefix: &str, declared: &Declared, path: &SettingPath, node: &Node) -> String {
    let kind = declared.key.kind();
    let expected = kind.expected();
    if kind.is_secret() {
        return format!("{prefix}{path} is not valid; expected {expected}.");
    }
    format!(
        "{prefix}{path} = {} is not valid; expected {expected}.",
        node.shown()
    )
}

/// "; did you mean …?" for a name that leads nowhere, or a full stop.
fn hint(parent: &SettingPath, cursor: &Cursor, name: &str) -> String {
    match table::suggest(parent, cursor, name) {
        Some(meant) => format!("; did you mean {meant}?"),
        None => ".".to_owned(),
    }
}
