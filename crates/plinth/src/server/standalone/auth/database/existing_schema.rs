//! Who created the schema `auth`, and whether it has what the service uses.
//!
//! Everything is read from the catalog: `to_regclass` fails for schemas that the role may not use.

use plinth_auth::schema::REQUIRED_COLUMNS;
use tokio_postgres::Client;

use crate::failure::{Failure, Kind, Outcome};

/// Who created the schema `auth`, if it exists.
pub(super) enum ExistingSchema {
    None,
    Plinth,
    /// There is a ledger of migrations, and the role may not read it.
    LedgerHidden,
    /// Another program, such as GoTrue.
    Foreign,
}

const TABLES: &str = "
    select n.nspname = 'auth',
           has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    where (n.nspname, c.relname) in (('auth', 'users'), ('plinth', 'migrations'))";

pub(super) async fn inspect(client: &Client) -> Outcome<ExistingSchema> {
    let (mut has_users, mut may_read_ledger) = (false, None);
    for row in client.query(TABLES, &[]).await? {
        let (is_users, is_readable): (bool, bool) = (row.get(0), row.get(1));
        if is_users {
            has_users = true;
        } else {
            may_read_ledger = Some(is_readable);
        }
    }
    if !has_users {
        return Ok(ExistingSchema::None);
    }
    match may_read_ledger {
        None => Ok(ExistingSchema::Foreign),
        Some(false) => Ok(ExistingSchema::LedgerHidden),
        Some(true) => {
            let sql = "select exists (select from plinth.migrations where service = 'auth')";
            let is_ours: bool = client.query_one(sql, &[]).await?.get(0);
            Ok(if is_ours {
                ExistingSchema::Plinth
            } else {
                ExistingSchema::Foreign
            })
        }
    }
}

const MISSING_COLUMNS: &str = "
    select needed.tab || '.' || needed.col
    from unnest($1::text[], $2::text[]) as needed (tab, col)
    where not exists (
        select
        from pg_attribute as a
        join pg_class as c on c.oid = a.attrelid
        join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'auth' and c.relname = needed.tab
          and a.attname = needed.col and not a.attisdropped)";

/// Rejects a schema that lacks columns which the service uses.
pub(super) async fn check_columns(client: &Client) -> Outcome {
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    for (table, needed) in REQUIRED_COLUMNS {
        for column in needed.split(' ') {
            tables.push(*table);
            columns.push(column);
        }
    }
    let rows = client.query(MISSING_COLUMNS, &[&tables, &columns]).await?;
    let missing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let text = format!("the schema auth lacks {}", shortened(&missing));
    Err(Failure::new(Kind::Failure, text).next_step(
        "Let the program that made it bring it up to date: the newest GoTrue, or Plinth with a \
         superuser in DATABASE_URL. Or use an empty database.",
    ))
}

/// The first few, and how many more.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (1..=7).map(|n| n.to_string()).collect();
        assert_eq!(shortened(&names), "1, 2, 3, 4, 5 and 2 more");
        assert_eq!(shortened(&names[..2]), "1, 2");
    }
}
