//! The folder's `config.toml`.

use std::path::Path;

use toml::de::DeTable;

use super::{Layer, Reader, place_in};
use crate::aliases;
use crate::env_reference::{self, Environment};
use crate::node::{LineIndex, Node};
use crate::path::SettingPath;
use crate::problem::{Findings, Place, Problem};
use crate::remote::{self, Remotes};
use crate::table::Cursor;

/// Reads the text of a `config.toml`, with the remote of `project_ref` merged into it.
pub(crate) fn read_file(
    file: &Path,
    text: &str,
    environment: &Environment,
    project_ref: Option<&str>,
    findings: &mut Findings,
) -> Layer {
    let mut document = match parse(file, text) {
        Ok(document) => document,
        Err(problem) => {
            findings.errors.push(problem);
            return Layer::default();
        }
    };
    if let Some(entries) = document.as_table_mut() {
        // For editors: the URL of a JSON schema.
        entries.remove("$schema");
    }
    aliases::normalise(&mut document, "", file, findings);
    let mut remotes = remote::extract(&mut document, file, findings);
    for (name, remote) in &mut remotes {
        aliases::normalise(remote, &format!("remotes.{name}."), file, findings);
    }
    remote::check_duplicates(&remotes, file, findings);
    let selected = project_ref.and_then(|wanted| remote::select(&remotes, wanted));
    if let Some((_, remote)) = selected {
        remote::apply(&mut document, remote);
    }
    let selected = selected.map(|(name, _)| name.to_owned());
    check_other_remotes(&remotes, selected.as_deref(), file, environment, findings);
    read_document(&document, "", file, environment, findings)
}

fn parse(file: &Path, text: &str) -> Result<Node, Problem> {
    let lines = LineIndex::new(text);
    match DeTable::parse(text) {
        Ok(table) => Ok(Node::from_toml(table.get_ref(), &lines)),
        Err(error) => {
            let (line, column) = match error.span() {
                Some(span) => {
                    let line = lines.line(span.start);
                    let before = text.get(lines.start(line)..span.start).unwrap_or_default();
                    (Some(line), Some(before.chars().count() + 1))
                }
                None => (None, None),
            };
            Err(Problem {
                place: Place::File {
                    path: file.to_owned(),
                    line,
                    column,
                },
                key: None,
                // The parser's full message quotes the line, which may contain a secret.
                message: format!("this is not valid TOML: {}.", error.message()),
            })
        }
    }
}

/// Checks the remotes that are not in use, so that selecting one later does not fail.
fn check_other_remotes(
    remotes: &Remotes,
    selected: Option<&str>,
    file: &Path,
    environment: &Environment,
    findings: &mut Findings,
) {
    for (name, remote) in remotes {
        let prefix = format!("remotes.{}.", SettingPath::from_iter([name.as_str()]));
        check_project_id(&prefix, remote, file, environment, findings);
        if selected != Some(name) {
            read_document(remote, &prefix, file, environment, findings);
        }
    }
}

fn check_project_id(
    prefix: &str,
    remote: &Node,
    file: &Path,
    environment: &Environment,
    findings: &mut Findings,
) {
    let written = remote.get_path(["project_id"]);
    let resolved = written.and_then(|node| env_reference::resolve(node, environment).node);
    let is_ref = |text: &str| text.len() == 20 && text.bytes().all(|b| b.is_ascii_lowercase());
    match (written, resolved.as_ref().and_then(Node::as_text)) {
        (Some(_), Some(text)) if is_ref(text) => {}
        // A reference to an unset variable has no value; wrong types are reported with the rest.
        (Some(_), None) => {}
        (node, _) => {
            let line = node.unwrap_or(remote).line;
            let message = format!(
                "{prefix}project_id must be a project's ref of 20 lower-case letters, \
                 such as abcdefghijklmnopqrst."
            );
            findings.error(place_in(file, line), format!("{prefix}project_id"), message);
        }
    }
}

fn read_document(
    document: &Node,
    prefix: &str,
    file: &Path,
    environment: &Environment,
    findings: &mut Findings,
) -> Layer {
    let mut reader = Reader {
        place: |node: &Node| place_in(file, node.line),
        prefix,
        environment: Some(environment),
        findings,
        layer: Layer::default(),
    };
    reader.read(&Cursor::root(), &SettingPath::default(), document);
    reader.layer
}
