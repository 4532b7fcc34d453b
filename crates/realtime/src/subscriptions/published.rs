//! The published tables (§9.1).

use plinth_db::{DbError, Queries};

use crate::changes::ChangeRequest;

/// The tables of the publication `supabase_realtime`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Published(Vec<PublishedTable>);

#[derive(Debug, PartialEq, Eq)]
struct PublishedTable {
    oid: u32,
    schema: String,
    name: String,
}

impl Published {
    pub(crate) async fn load(db: &mut impl Queries) -> Result<Self, DbError> {
        let rows = db
            .query(
                "select c.oid, p.schemaname::text, p.tablename::text
                 from pg_catalog.pg_publication_tables p
                 join pg_catalog.pg_namespace n on n.nspname = p.schemaname
                 join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = p.tablename
                 where p.pubname = 'supabase_realtime'
                 order by c.oid",
                &[],
            )
            .await?;
        let table = |row: &plinth_db::Row| {
            Ok(PublishedTable {
                oid: row.try_get(0)?,
                schema: row.try_get(1)?,
                name: row.try_get(2)?,
            })
        };
        rows.iter().map(table).collect::<Result<_, _>>().map(Self)
    }

    /// Oids of the tables that match a request.
    pub(crate) fn matching(&self, request: &ChangeRequest) -> impl Iterator<Item = u32> {
        let matches = |table: &&PublishedTable| {
            request.schema.matches(&table.schema) && request.table.matches(&table.name)
        };
        self.0.iter().filter(matches).map(|table| table.oid)
    }
}
