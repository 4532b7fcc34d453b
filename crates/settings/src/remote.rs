//! `[remotes.<name>]`: overrides for the project whose ref is the `project_id` of the remote.

use std::collections::BTreeMap;
use std::path::Path;

use crate::layers::place_in;
use crate::node::{Body, Node};
use crate::problem::Findings;

/// Overrides by the name of the remote.
pub(crate) type Remotes = BTreeMap<String, Node>;

/// Removes the remotes from a document and returns them.
pub(crate) fn extract(document: &mut Node, file: &Path, findings: &mut Findings) -> Remotes {
    let Some(remotes) = document
        .as_table_mut()
        .and_then(|entries| entries.remove("remotes"))
    else {
        return Remotes::new();
    };
    let place = place_in(file, remotes.line);
    let Body::Table(remotes) = remotes.body else {
        findings.error(
            place,
            "remotes",
            "remotes must be a table of tables.".to_owned(),
        );
        return Remotes::new();
    };
    let (tables, others): (Remotes, Remotes) = remotes
        .into_iter()
        .partition(|(_, remote)| remote.as_table().is_some());
    for (name, other) in others {
        let message = format!("remotes.{name} must be a table.");
        findings.error(
            place_in(file, other.line),
            format!("remotes.{name}"),
            message,
        );
    }
    tables
}

/// Rejects two remotes for the same project: which one applies would be arbitrary.
pub(crate) fn check_duplicates(remotes: &Remotes, file: &Path, findings: &mut Findings) {
    let mut names = BTreeMap::new();
    for (name, remote) in remotes {
        let id = project_id(remote).unwrap_or_default();
        if let Some(other) = names.insert(id, name) {
            let message = match id {
                "" => format!("remotes.{other} and remotes.{name} lack their project_id."),
                id => format!("remotes.{other} and remotes.{name} both name {id:?}."),
            };
            let key = format!("remotes.{name}.project_id");
            findings.error(place_in(file, remote.line), key, message);
        }
    }
}

/// The remote of a project. Its `project_id` is compared as written; `env(NAME)` in it is not
/// resolved, as in the official tool.
pub(crate) fn select<'a>(remotes: &'a Remotes, project_ref: &str) -> Option<(&'a str, &'a Node)> {
    remotes
        .iter()
        .find(|(_, remote)| project_id(remote) == Some(project_ref))
        .map(|(name, remote)| (name.as_str(), remote))
}

/// Merges a remote into the document: tables merge, everything else is replaced. Seeds are for
/// development, so they are disabled unless the remote itself enables them.
pub(crate) fn apply(document: &mut Node, remote: &Node) {
    let sets_seed = remote.get_path(["db", "seed", "enabled"]).is_some();
    merge(document, remote);
    if !sets_seed {
        let off = Node {
            line: remote.line,
            body: Body::Bool(false),
        };
        let table = |name: &str, inner: Node| Node {
            line: remote.line,
            body: Body::Table([(name.to_owned(), inner)].into()),
        };
        merge(document, &table("db", table("seed", table("enabled", off))));
    }
}

fn merge(base: &mut Node, over: &Node) {
    match (&mut base.body, &over.body) {
        (Body::Table(base), Body::Table(over)) => {
            for (name, node) in over {
                match base.get_mut(name) {
                    Some(existing) => merge(existing, node),
                    None => {
                        base.insert(name.clone(), node.clone());
                    }
                }
            }
        }
        _ => *base = over.clone(),
    }
}

fn project_id(remote: &Node) -> Option<&str> {
    remote.get_path(["project_id"])?.as_text()
}
