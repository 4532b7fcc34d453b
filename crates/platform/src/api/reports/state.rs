//! Counts of what a project has, from the catalogue and estimates: no table of users is read.

use plinth_project::{Project, ProjectName, ProjectRef};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Platform, PlatformError};

/// What a project has; null where it is not known.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct StateBody {
    database_bytes: Option<i64>,
    /// Tables in the schemas of users.
    tables: Option<i64>,
    /// Estimated.
    users: Option<i64>,
    objects: Option<ObjectsBody>,
    /// Deployed functions.
    functions: Option<i64>,
    last_migration: Option<LastMigrationBody>,
    checklist: Option<ChecklistBody>,
}

/// Estimated by PostgreSQL's statistics.
#[derive(Serialize, JsonSchema)]
struct ObjectsBody {
    count: i64,
}

#[derive(Serialize, JsonSchema)]
struct LastMigrationBody {
    version: String,
    name: Option<String>,
}

/// Whether the first steps were done.
#[derive(Serialize, JsonSchema)]
struct ChecklistBody {
    table: bool,
    policy: bool,
    user: bool,
}

const COUNTS: &str = "
    with of_users as (
        select n.oid from pg_catalog.pg_namespace n
        where n.nspname !~ '^(pg_|information_schema$)'
          and n.nspname not in ('auth', 'storage', 'realtime', 'plinth', 'plinth_roles', 'vault',
              'extensions', 'supabase_functions', 'supabase_migrations'))
    select pg_catalog.pg_database_size(pg_catalog.current_database()),
           (select count(*) from pg_catalog.pg_class c
            where c.relkind in ('r', 'p') and not c.relispartition
              and c.relnamespace in (select oid from of_users)),
           (select count(*) from pg_catalog.pg_policy p
            join pg_catalog.pg_class c on c.oid = p.polrelid
            where c.relnamespace in (select oid from of_users))";

/// Rows of a table: as counted by the last analysis, or by the statistics since.
const ESTIMATE: &str = "
    select greatest(c.reltuples::bigint, coalesce(pg_catalog.pg_stat_get_live_tuples(c.oid), 0), 0)
    from pg_catalog.pg_class c
    where c.oid = pg_catalog.to_regclass($1)";

/// Everything that can be read.
pub(super) async fn read_state(platform: &Platform, reference: &ProjectRef) -> StateBody {
    let name = ProjectName::Ref(reference.clone());
    let functions = platform.list_functions(&name).await.ok();
    let functions = functions.and_then(|functions| i64::try_from(functions.len()).ok());
    let state = match platform.open(&name).await {
        Ok(project) => in_database(&project).await.unwrap_or_default(),
        Err(_) => StateBody::default(),
    };
    StateBody { functions, ..state }
}

async fn in_database(project: &Project) -> Result<StateBody, PlatformError> {
    let admin = project.db.as_admin().await?;
    admin.batch_execute("set statement_timeout = '5s'").await?;
    let counts = admin.query_one(COUNTS, &[]).await?;
    let estimate = async |table: &str| -> Result<Option<i64>, PlatformError> {
        let row = admin.query_opt(ESTIMATE, &[&table]).await?;
        Ok(row.map(|row| row.get(0)))
    };
    let users = estimate("auth.users").await?;
    let objects = estimate("storage.objects").await?;
    let (tables, policies): (i64, i64) = (counts.get(1), counts.get(2));
    Ok(StateBody {
        database_bytes: counts.get(0),
        tables: Some(tables),
        users,
        objects: objects.map(|count| ObjectsBody { count }),
        functions: None,
        // The table is the owner's.
        last_migration: last_migration(project).await.unwrap_or_default(),
        checklist: Some(ChecklistBody {
            table: tables > 0,
            policy: policies > 0,
            user: users > Some(0),
        }),
    })
}

async fn last_migration(project: &Project) -> Result<Option<LastMigrationBody>, PlatformError> {
    let owner = project.db.as_owner().await?;
    let sql = "select version::text, name::text from supabase_migrations.schema_migrations
               order by version desc limit 1";
    let row = owner.query_opt(sql, &[]).await?;
    Ok(row.map(|row| LastMigrationBody {
        version: row.get(0),
        name: row.get(1),
    }))
}
