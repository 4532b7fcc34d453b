//! The database of a service alone: an empty one gets our schema, one that GoTrue made is left as
//! it is.

use plinth_auth::schema::{MIGRATIONS, NEEDED};
use plinth_db::{Target, migrate};
use plinth_project::prepare_cluster;
use plinth_token::Secret;
use tokio_postgres::Client;

use crate::failure::{Failure, Kind, Outcome};

/// The role that owns schema `auth`, and as which hooks run.
const OWNER: &str = "supabase_auth_admin";

/// Roles that our schema speaks of.
const ROLES: [&str; 6] = [
    OWNER,
    "anon",
    "authenticated",
    "service_role",
    "postgres",
    "dashboard_user",
];

/// Makes sure that the schema is there and gives the way to it.
pub(super) async fn open(url: &Secret) -> Outcome<Target> {
    let target = Target::from_url(url.expose())
        .map_err(|error| Failure::usage(format!("DATABASE_URL: {error}")))?;
    let mut client = target.connect().await.map_err(|error| {
        Failure::new(
            Kind::Failure,
            format!("DATABASE_URL cannot be used: {error}"),
        )
    })?;
    match look(&client).await? {
        Found::Nothing => install(&mut client).await?,
        Found::Ours => {
            let count = migrate::migrate(&mut client, &[MIGRATIONS]).await?;
            if count > 0 {
                tracing::info!("the schema auth was brought up to date ({count} files)");
            }
        }
        Found::Others => check(&client).await?,
    }
    Ok(match may_act_as_owner(&client).await? {
        true => target.options(&format!("-c role={OWNER}")),
        false => target,
    })
}

/// Whose schema is there.
enum Found {
    Nothing,
    Ours,
    Others,
}

async fn look(client: &Client) -> Outcome<Found> {
    let sql = "select to_regclass('auth.users') is not null, \
               to_regclass('plinth.migrations') is not null";
    let row = client.query_one(sql, &[]).await?;
    let (has_users, has_ledger): (bool, bool) = (row.get(0), row.get(1));
    if !has_users {
        return Ok(Found::Nothing);
    }
    if has_ledger {
        let sql = "select exists (select from plinth.migrations where service = 'auth')";
        if client.query_one(sql, &[]).await?.get(0) {
            return Ok(Found::Ours);
        }
    }
    Ok(Found::Others)
}

async fn install(client: &mut Client) -> Outcome {
    let missing = missing_roles(client).await?;
    if !missing.is_empty() {
        prepare_cluster(client).await.map_err(|error| {
            let missing = missing.join(", ");
            Failure::new(
                Kind::Failure,
                format!("the database lacks the roles {missing}, and they cannot be made: {error}"),
            )
            .next_step("Start once with a superuser in DATABASE_URL, or create the roles.")
        })?;
        tracing::info!("created the roles {}", missing.join(", "));
    }
    let count = migrate::migrate(client, &[MIGRATIONS])
        .await
        .map_err(|error| {
            Failure::new(Kind::Failure, error.to_string())
                .next_step("Start once with a superuser in DATABASE_URL.")
        })?;
    tracing::info!("installed the schema auth ({count} files)");
    Ok(())
}

async fn missing_roles(client: &Client) -> Outcome<Vec<String>> {
    let sql = "select name from unnest($1::text[]) as name \
               where not exists (select from pg_roles where rolname = name)";
    let rows = client.query(sql, &[&ROLES.as_slice()]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Refuses a schema that lacks what the service reads and writes.
async fn check(client: &Client) -> Outcome {
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    for (table, needed) in NEEDED {
        for column in needed.split(' ') {
            tables.push(*table);
            columns.push(column);
        }
    }
    let sql = "select n.name || '.' || n.attribute \
               from unnest($1::text[], $2::text[]) as n (name, attribute) \
               where not exists ( \
                   select from pg_attribute as a \
                   where a.attrelid = to_regclass('auth.' || quote_ident(n.name)) \
                     and a.attname = n.attribute and not a.attisdropped)";
    let rows = client.query(sql, &[&tables, &columns]).await?;
    let missing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if missing.is_empty() {
        tracing::info!("the schema auth was made by another program and stays as it is");
        return Ok(());
    }
    Err(Failure::new(
        Kind::Failure,
        format!(
            "the schema auth was made by another program and lacks {}",
            shortened(&missing)
        ),
    )
    .next_step("Let the newest GoTrue bring it up to date, or use an empty database."))
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

/// Whether the login may become the schema's owner, and that role may work there.
async fn may_act_as_owner(client: &Client) -> Outcome<bool> {
    let sql = "select coalesce( \
                   (select pg_has_role(current_user, r.oid, 'member') \
                       and has_table_privilege(r.oid, 'auth.users', 'insert, delete') \
                    from pg_roles as r where r.rolname = $1), \
                   false)";
    Ok(client.query_one(sql, &[&OWNER]).await?.get(0))
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
