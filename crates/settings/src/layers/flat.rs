//! Layers that name each setting by its path: the command line and what operators stored.

use std::collections::BTreeMap;

use super::{Layer, Reader, hint};
use crate::aliases;
use crate::node::Node;
use crate::path::SettingPath;
use crate::problem::{Findings, Place};
use crate::table::{Cursor, Step};

/// Reads `--set path=text` and its shorthands. An unknown path is an error here, not a warning: it
/// was typed for this start.
pub(crate) fn read_command_line(
    overrides: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> Layer {
    let mut reader = Reader {
        place: |_: &Node| Place::CommandLine,
        prefix: "",
        environment: None,
        findings,
        layer: Layer::default(),
    };
    for (path, text) in overrides {
        if let Err(message) = reader.read_at(path, &Node::untyped(text)) {
            reader.findings.error(Place::CommandLine, path, message);
        }
    }
    reader.layer
}

/// Reads stored settings. `env(NAME)` is not resolved: permission to store settings must not give
/// access to the environment of the server.
pub(crate) fn read_stored(
    stored: &serde_json::Map<String, serde_json::Value>,
    findings: &mut Findings,
) -> Layer {
    let mut reader = Reader {
        place: |_: &Node| Place::Stored,
        prefix: "",
        environment: None,
        findings,
        layer: Layer::default(),
    };
    for (path, value) in stored.iter().filter(|(_, value)| !value.is_null()) {
        if let Err(message) = reader.read_at(path, &Node::from_json(value)) {
            reader.findings.warn(Place::Stored, path, message);
        }
    }
    reader.layer
}

impl<P: Fn(&Node) -> Place> Reader<'_, P> {
    /// Reads the value of one path; the error says why there is no such setting.
    fn read_at(&mut self, path: &str, node: &Node) -> Result<(), String> {
        let written = SettingPath::parse(path);
        let path = aliases::canonical(&written).unwrap_or(written);
        let mut cursor = Cursor::root();
        let mut position = SettingPath::default();
        let mut members = Vec::new();
        for segment in path.segments() {
            let next = position.child(segment);
            match cursor.step(segment) {
                Step::Known(further) => {
                    if cursor.is_map() {
                        members.push(next.clone());
                    }
                    cursor = further;
                }
                Step::Unknown => {
                    let hint = hint(&position, &cursor, segment);
                    return Err(format!("there is no setting {path}{hint}"));
                }
                Step::InvalidName(expected) => {
                    return Err(format!(
                        "{next} has a name that is not allowed; expected {expected}."
                    ));
                }
            }
            position = next;
        }
        self.layer.members.extend(members);
        self.read(&cursor, &path, node);
        Ok(())
    }
}
