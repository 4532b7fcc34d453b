//! The database of standalone auth: an empty one gets our schema, one that GoTrue created is left
//! unchanged.
//!
//! Only installing and upgrading need privileges. A schema that is up to date is served by any role
//! that may use its tables, without DDL.

mod existing_schema;
mod privileges;

use plinth_auth::schema::{MIGRATIONS, NEVER_NULL};
use plinth_db::{Target, migrate};
use plinth_project::prepare_cluster;
use plinth_token::Secret;
use tokio_postgres::Client;

use crate::failure::{Failure, Kind, Outcome};
use existing_schema::ExistingSchema;

/// The role that owns schema `auth`, and as which hooks run.
const OWNER: &str = "supabase_auth_admin";

/// Roles that our schema refers to.
const ROLES: [&str; 6] = [
    OWNER,
    "anon",
    "authenticated",
    "service_role",
    "postgres",
    "dashboard_user",
];

/// What to do when the role of the database URL lacks privileges.
const USE_SUPERUSER_ONCE: &str = "Start once with a superuser in DATABASE_URL.";

/// Installs or checks the schema and returns the connection target.
pub(super) async fn open(url: &Secret) -> Outcome<Target> {
    let target = Target::from_url(url.expose())
        .map_err(|error| Failure::usage(format!("DATABASE_URL: {error}")))?;
    let mut client = target.connect().await.map_err(|error| {
        Failure::new(
            Kind::Failure,
            format!("DATABASE_URL cannot be used: {error}"),
        )
    })?;
    let is_migrated = match existing_schema::inspect(&client).await? {
        ExistingSchema::None => install(&mut client).await.map(|()| true)?,
        ExistingSchema::Plinth => upgrade(&mut client).await.map(|()| true)?,
        ExistingSchema::LedgerHidden => {
            existing_schema::check_columns(&client).await?;
            tracing::warn!(
                "serving the schema auth as it is: the database role may not read the list of its \
                 migrations, so some may be pending. {USE_SUPERUSER_ONCE}"
            );
            false
        }
        ExistingSchema::Foreign => {
            existing_schema::check_columns(&client).await?;
            tracing::info!("the schema auth was made by another program and stays as it is");
            false
        }
    };
    let as_owner = privileges::may_act_as_owner(&client).await?;
    if as_owner {
        client.batch_execute(&format!("set role {OWNER}")).await?;
    } else {
        privileges::check(&client).await?;
    }
    if !is_migrated {
        fill_nulls(&client).await?;
    }
    Ok(if as_owner {
        target.options(&format!("-c role={OWNER}"))
    } else {
        target
    })
}

/// Repairs rows that GoTrue could not read, which a migration does elsewhere.
async fn fill_nulls(client: &Client) -> Outcome {
    let mut filled = 0;
    for (table, column) in NEVER_NULL {
        let sql = format!("update auth.{table} set {column} = '' where {column} is null");
        filled += client.execute(&sql, &[]).await?;
    }
    if filled > 0 {
        tracing::info!("filled {filled} empty text(s) in the schema auth, for GoTrue");
    }
    Ok(())
}

async fn install(client: &mut Client) -> Outcome {
    let missing = missing_roles(client).await?;
    if !missing.is_empty() {
        prepare_cluster(client, false).await.map_err(|error| {
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
            Failure::new(Kind::Failure, error.to_string()).next_step(USE_SUPERUSER_ONCE)
        })?;
    tracing::info!("installed the schema auth ({count} files)");
    Ok(())
}

/// Runs DDL only if the ledger lacks a migration.
async fn upgrade(client: &mut Client) -> Outcome {
    migrate::check_not_newer(client, &[MIGRATIONS]).await?;
    if migrate::is_current(client, &[MIGRATIONS]).await? {
        return Ok(());
    }
    let count = migrate::migrate(client, &[MIGRATIONS])
        .await
        .map_err(|error| {
            let text = format!("the schema auth is older than this plinth: {error}");
            Failure::new(Kind::Failure, text).next_step(USE_SUPERUSER_ONCE)
        })?;
    tracing::info!("applied {count} migration(s) to the schema auth");
    Ok(())
}

async fn missing_roles(client: &Client) -> Outcome<Vec<String>> {
    let sql = "select name from unnest($1::text[]) as name \
               where not exists (select from pg_roles where rolname = name)";
    let rows = client.query(sql, &[&ROLES.as_slice()]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
