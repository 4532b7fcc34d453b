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

/// Every object of a database with the statement that makes it, in execution order. A dump runs
/// them all; a comparison of two databases runs those that differ.
pub struct Catalog {
    /// Those that others depend on come first.
    pub objects: Vec<CatalogObject>,
    /// What no statement here can make, one sentence each.
    pub unsupported: Vec<String>,
    dependencies: Dependencies,
    makers: HashMap<ObjectId, usize>,
}

/// An object, or what completes one: privileges, a comment, an owner of a sequence.
pub struct CatalogObject {
    /// What kind of object it is, as in `table`.
    pub kind: &'static str,
    /// Its display name, unique within its kind.
    pub name: String,
    /// One or more SQL statements, each ended by a semicolon. Names are qualified.
    pub sql: String,
    /// The catalog that it is in.
    pub class: u32,
    /// Its OID there; of what completes an object, the object's.
    pub object: u32,
    /// Whether it completes an object that another statement makes.
    pub completes: bool,
    /// The table that it belongs to.
    pub relation: Option<usize>,
    /// What it depends on.
    pub needs: BTreeSet<usize>,
    phase: Phase,
}

impl Catalog {
    /// Reads everything but rows, in the client's transaction. Names are qualified if nothing but
    /// `pg_catalog` is in the search path.
    pub async fn read(client: &Client) -> Result<Self, DumpError> {
        let unsupported = unsupported::find(client).await?;
        let dependencies = Dependencies::read(client).await?;
        let entries = read_entries(client, &dependencies).await?;
        let makers = makers(&entries);
        let nodes = nodes(&entries, &dependencies, &makers);
        let ordered = order(&nodes).map_err(|cycle| described(&entries, &cycle))?;

        let mut positions = vec![0; entries.len()];
        for (position, &(at, _)) in ordered.iter().enumerate() {
            positions[at] = position;
        }
        let mut objects: Vec<(usize, CatalogObject)> = Vec::with_capacity(entries.len());
        for (position, (entry, node)) in entries.into_iter().zip(nodes).enumerate() {
            let relation = entry
                .relation
                .and_then(|of| dependencies.creator(of, &makers));
            let (_, phase) = ordered[positions[position]];
            objects.push((
                positions[position],
                CatalogObject {
                    kind: entry.kind.name,
                    name: entry.name,
                    sql: entry.sql,
                    class: entry.object.class,
                    object: entry.object.object,
                    completes: entry.kind.role == Role::Completes,
                    relation: relation.map(|at| positions[at]),
                    needs: node.needs.iter().map(|&at| positions[at]).collect(),
                    phase,
                },
            ));
        }
        objects.sort_by_key(|(position, _)| *position);
        Ok(Self {
            objects: objects.into_iter().map(|(_, object)| object).collect(),
            unsupported,
            makers: makers
                .into_iter()
                .map(|(id, at)| (id, positions[at]))
                .collect(),
            dependencies,
        })
    }

    /// The object with this address, or the one that it is a part of.
    pub fn find(&self, class: u32, object: u32) -> Option<usize> {
        self.dependencies
            .creator(ObjectId { class, object }, &self.makers)
    }
}

/// An entry before its position is known.
struct Entry {
    kind: &'static Kind,
    object: ObjectId,
    relation: Option<ObjectId>,
    name: String,
    sql: String,
}

/// The statements of a dump.
pub(crate) async fn read(client: &Client) -> Result<Vec<Statement>, DumpError> {
    let catalog = Catalog::read(client).await?;
    if !catalog.unsupported.is_empty() {
        return Err(DumpError::Unsupported(catalog.unsupported));
    }
    let mut statements = beginning(client).await?;
    let objects = catalog.objects.into_iter();
    statements.extend(objects.map(|object| Statement {
        section: match object.phase {
            Phase::Shape => Section::PreData,
            _ => Section::PostData,
        },
        kind: object.kind,
        name: object.name,
        sql: object.sql,
    }));
    Ok(statements)
}

fn described(entries: &[Entry], DependencyCycle(circle): &DependencyCycle) -> DumpError {
    let names: Vec<String> = circle
        .iter()
        .map(|&at| format!("{} {}", entries[at].kind.name, entries[at].name))
        .collect();
    DumpError::Unsupported(vec![format!(
        "these objects need each other and cannot be made one after the other: {}",
        names.join(", ")
    )])
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

/// The entry that makes each object.
fn makers(entries: &[Entry]) -> HashMap<ObjectId, usize> {
    let entries = entries.iter().enumerate();
    let making = entries.filter(|(_, entry)| entry.kind.role != Role::Completes);
    making.map(|(at, entry)| (entry.object, at)).collect()
}

fn nodes(
    entries: &[Entry],
    dependencies: &Dependencies,
    makers: &HashMap<ObjectId, usize>,
) -> Vec<Node> {
    let mut needs: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); entries.len()];
    for edge in dependencies.edges() {
        let from = dependencies.creator(edge.from, makers);
        let to = dependencies.creator_or_extension(edge.to, makers);
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
            if let Some(creator) = dependencies.creator_or_extension(object, makers)
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
