//! Finding what a statement has just made, whose oid only the database knows.

use tokio_postgres::Client;

use super::CatalogError;
use crate::PlatformError;

/// What was made in the present transaction. Names are those of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Created<'a> {
    Schema(&'a str),
    Relation {
        schema: &'a str,
        name: &'a str,
    },
    Function {
        schema: &'a str,
        name: &'a str,
    },
    Type {
        schema: &'a str,
        name: &'a str,
    },
    Policy {
        table: (&'a str, &'a str),
        name: &'a str,
    },
    Trigger {
        table: (&'a str, &'a str),
        name: &'a str,
    },
    Publication(&'a str),
    Role(&'a str),
    /// Its name may be PostgreSQL's choice.
    IndexOf {
        table: u32,
    },
    /// The same.
    ConstraintOf {
        table: u32,
        is_foreign_key: bool,
    },
}

/// Rows that the present transaction wrote.
const NEW: &str = "xmin = pg_current_xact_id()::xid";

impl Created<'_> {
    /// Its oid.
    pub(crate) async fn find(self, client: &Client) -> Result<u32, CatalogError> {
        let in_schema = |catalog: &str, prefix: &str| {
            format!(
                "select c.oid from {catalog} c join pg_namespace n on n.oid = c.{prefix}namespace \
                 where n.nspname = $1 and c.{prefix}name = $2 and c.{NEW} order by c.oid desc"
            )
        };
        let on_table = |catalog: &str, relation: &str, name: &str| {
            format!(
                "select o.oid from {catalog} o join pg_class c on c.oid = o.{relation} \
                 join pg_namespace n on n.oid = c.relnamespace \
                 where n.nspname = $1 and c.relname = $2 and o.{name} = $3"
            )
        };
        let row = match self {
            Self::Schema(name) => {
                let sql = "select oid from pg_namespace where nspname = $1";
                client.query_opt(sql, &[&name]).await?
            }
            Self::Relation { schema, name } => {
                let sql = in_schema("pg_class", "rel");
                client
                    .query(&sql, &[&schema, &name])
                    .await?
                    .into_iter()
                    .next()
            }
            Self::Function { schema, name } => {
                let sql = in_schema("pg_proc", "pro");
                client
                    .query(&sql, &[&schema, &name])
                    .await?
                    .into_iter()
                    .next()
            }
            Self::Type { schema, name } => {
                let sql = in_schema("pg_type", "typ");
                client
                    .query(&sql, &[&schema, &name])
                    .await?
                    .into_iter()
                    .next()
            }
            Self::Policy { table, name } => {
                let sql = on_table("pg_policy", "polrelid", "polname");
                client.query_opt(&sql, &[&table.0, &table.1, &name]).await?
            }
            Self::Trigger { table, name } => {
                let sql = on_table("pg_trigger", "tgrelid", "tgname");
                client.query_opt(&sql, &[&table.0, &table.1, &name]).await?
            }
            Self::Publication(name) => {
                let sql = "select oid from pg_publication where pubname = $1";
                client.query_opt(sql, &[&name]).await?
            }
            Self::Role(name) => {
                let sql = "select oid from pg_roles where rolname = $1";
                client.query_opt(sql, &[&name]).await?
            }
            Self::IndexOf { table } => {
                let sql = format!(
                    "select indexrelid from pg_index where indrelid = $1 and {NEW} \
                     order by indexrelid desc"
                );
                client.query(&sql, &[&table]).await?.into_iter().next()
            }
            Self::ConstraintOf {
                table,
                is_foreign_key,
            } => {
                // A primary key makes constraints for NOT NULL besides.
                let sql = format!(
                    "select oid from pg_constraint where conrelid = $1 and {NEW} \
                     and (contype = 'f') = $2 and contype <> 'n' order by oid desc"
                );
                let rows = client.query(&sql, &[&table, &is_foreign_key]).await?;
                rows.into_iter().next()
            }
        };
        let oid = row.map(|row| row.try_get(0)).transpose()?;
        let missing = || PlatformError::internal(format!("{self:?} is not there after its making"));
        Ok(oid.ok_or_else(missing)?)
    }
}
