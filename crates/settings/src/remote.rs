//! `[remotes.<name>]`: what differs when the folder serves the project that the remote names.

use std::collections::BTreeMap;
use std::path::Path;

use crate::layers::place_in;
use crate::node::{Body, Node};
use crate::problem::Findings;

/// A remote's name and what it says.
pub(crate) type Remotes = BTreeMap<String, Node>;

/// Takes the remotes out of a document.
pub(crate) fn take(document: &mut Node, file: &Path, findings: &mut Findings) -> Remotes {
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

/// Two remotes that name the same project would be a matter of chance.
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

/// The remote for a project. The written `project_id` is compared, without following a reference
/// to the environment, as the official tool does.
pub(crate) fn select<'a>(remotes: &'a Remotes, project_ref: &str) -> Option<(&'a str, &'a Node)> {
    remotes
        .iter()
        .find(|(_, remote)| project_id(remote) == Some(project_ref))
        .map(|(name, remote)| (name.as_str(), remote))
}

/// Lays a remote over the document: tables merge, everything else is replaced. Seeds are for
/// development, so they stay off unless the remote itself asks for them.
pub(crate) fn apply(document: &mut Node, remote: &Node) {
    let asks_for_seed = remote.at(["db", "seed", "enabled"]).is_some();
    merge(document, remote);
    if !asks_for_seed {
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
    remote.at(["project_id"])?.as_text()
}
