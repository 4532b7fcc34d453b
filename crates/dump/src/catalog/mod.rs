//! From the catalog to an ordered list of statements.

mod dependencies;
mod kinds;
mod unsupported;

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::Client;

use crate::{
    DumpError, Section, Statement,
    order::{DependencyCycle, Node, Phase, order},
};
use dependencies::{Dependencies, ObjectId};
use kinds::{KINDS, Kind, OfExtensions, Role};

/// An entry before its position is known.
struct Entry {
    kind: &'static Kind,
    object: ObjectId,
    relation: Option<ObjectId>,
    name: String,
    sql: String,
}

/// Reads everything but rows, in the client's transaction.
pub(crate) async fn read(client: &Client) -> Result<Vec<Statement>, DumpError> {
    let unsupported = unsupported::find(client).await?;
    if !unsupported.is_empty() {
        return Err(DumpError::Unsupported(unsupported));
    }
    let dependencies = Dependencies::read(client).await?;
    let entries = read_entries(client, &dependencies).await?;
    let nodes = nodes(&entries, &dependencies);
    let ordered = order(&nodes).map_err(|DependencyCycle(circle)| {
        let names: Vec<String> = circle
            .iter()
            .map(|&at| format!("{} {}", entries[at].kind.name, entries[at].name))
            .collect();
        DumpError::Unsupported(vec![format!(
            "these objects need each other and cannot be made one after the other: {}",
            names.join(", ")
        )])
    })?;
    let mut statements = beginning(client).await?;
    statements.extend(ordered.into_iter().map(|(at, phase)| Statement {
        section: match phase {
            Phase::Shape => Section::PreData,
            _ => Section::PostData,
        },
        kind: entries[at].kind.name,
        name: entries[at].name.clone(),
        sql: entries[at].sql.clone(),
    }));
    Ok(statements)
}

/// A new database has a schema `public` and the language `plpgsql`; the source may have neither.
async fn beginning(client: &Client) -> Result<Vec<Statement>, DumpError> {
    let sql = "select exists (select from pg_extension where extname = 'plpgsql' and oid < 16384)";
    let has_language: bool = client.query_one(sql, &[]).await?.get(0);
    let mut sql = "drop schema if exists public;".to_owned();
    if !has_language {
        sql.push_str("\ndrop extension if exists plpgsql;");
    }
    Ok(vec![Statement {
        section: Section::PreData,
        kind: "database",
        name: "as it starts".to_owned(),
        sql,
    }])
}

async fn read_entries(
    client: &Client,
    dependencies: &Dependencies,
) -> Result<Vec<Entry>, DumpError> {
    let mut entries = Vec::new();
    for kind in KINDS {
        for row in client.query(kind.query, &[]).await? {
            let object = ObjectId {
                class: row.get("class"),
                object: row.get("object"),
            };
            let relation = row
                .get::<_, Option<u32>>("relation")
                .map(|relation| dependencies.relation(relation));
            let of_extension = dependencies.is_of_extension(object)
                || relation.is_some_and(|relation| dependencies.is_of_extension(relation));
            if of_extension && kind.of_extensions == OfExtensions::Skipped {
                continue;
            }
            entries.push(Entry {
                kind,
                object,
                relation,
                name: row.get("name"),
                sql: row.get("sql"),
            });
        }
    }
    Ok(entries)
}

fn nodes(entries: &[Entry], dependencies: &Dependencies) -> Vec<Node> {
    let makes = |entry: &&Entry| entry.kind.role != Role::Completes;
    let makers: HashMap<ObjectId, usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| makes(entry))
        .map(|(at, entry)| (entry.object, at))
        .collect();
    let mut needs: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); entries.len()];
    for edge in dependencies.edges() {
        let from = dependencies.creator(edge.from, &makers);
        let to = dependencies.creator_or_extension(edge.to, &makers);
        if let (Some(from), Some(to)) = (from, to)
            && from != to
            && !(entries[from].kind.name == "sequence" && entries[to].kind.name == "table")
        {
            needs[from].insert(to);
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        let own = (entry.kind.role == Role::Completes).then_some(entry.object);
        for object in own.into_iter().chain(entry.relation) {
            if let Some(creator) = dependencies.creator_or_extension(object, &makers)
                && creator != at
            {
                needs[at].insert(creator);
            }
        }
    }
    let node = |(entry, needs): (&Entry, BTreeSet<usize>)| Node {
        phase: entry.kind.phase,
        rank: entry.kind.rank,
        name: entry.name.clone(),
        may_move_later: entry.kind.role != Role::Makes || entry.kind.phase > Phase::Shape,
        needs,
    };
    entries.iter().zip(needs).map(node).collect()
}
