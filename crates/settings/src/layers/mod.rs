//! The layers that make up the settings. Each reads one place (file, environment, command line,
//! stored settings) into checked values; [`crate::loader`] stacks them.

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

/// The checked values of one place.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) values: BTreeMap<SettingPath, Entry>,
    /// Members of maps, also empty ones such as `[functions.hello]`.
    pub(crate) members: BTreeSet<SettingPath>,
    /// Settings that refer to variables which are not set, and the names of those.
    pub(crate) unset: BTreeMap<SettingPath, (Place, Vec<String>)>,
}

/// A checked value and where it is written.
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

/// Reads nested tables. `P` gives the place of a node; `prefix` is put before names in messages.
struct Reader<'a, P> {
    place: P,
    prefix: &'a str,
    /// Where `env(NAME)` is looked up; absent in layers that may not use it.
    environment: Option<&'a Environment>,
    findings: &'a mut Findings,
    layer: Layer,
}

impl<P: Fn(&Node) -> Place> Reader<'_, P> {
    /// Reads the node at a position of the tree: a setting, or a table of further ones.
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
                Step::InvalidName(expected) => {
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
        let resolved;
        let node = match self.environment {
            None => node,
            Some(environment) => {
                resolved = env_reference::resolve(node, environment);
                if !resolved.unset.is_empty() {
                    let unset = (place.clone(), resolved.unset);
                    self.layer.unset.insert(path.clone(), unset);
                }
                match &resolved.node {
                    Some(node) => node,
                    None => return,
                }
            }
        };
        // For a setting without a default, empty text means unset.
        if declared.default.is_none() && node.as_text() == Some("") {
            return;
        }
        match declared.declaration.kind().read(node) {
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
    let kind = declared.declaration.kind();
    let expected = kind.expected();
    if kind.is_secret() {
        return format!("{prefix}{path} is not valid; expected {expected}.");
    }
    format!(
        "{prefix}{path} = {} is not valid; expected {expected}.",
        node.preview()
    )
}

/// "; did you mean …?" for an unknown name with a likely match, otherwise a full stop.
fn hint(parent: &SettingPath, cursor: &Cursor, name: &str) -> String {
    match table::suggest(parent, cursor, name) {
        Some(similar) => format!("; did you mean {similar}?"),
        None => ".".to_owned(),
    }
}
