//! Whether the role of the database URL can serve.

use plinth_auth::schema::REQUIRED_COLUMNS;
use tokio_postgres::Client;

use super::OWNER;
use crate::failure::{Failure, Kind, Outcome};

/// From PostgreSQL 16 on, a member can be denied SET ROLE.
const MAY_ACT_AS_OWNER: &str = "
    select exists (
        select
        from pg_roles as r
        join pg_class as c on c.relname = 'users'
        join pg_namespace as n on n.oid = c.relnamespace and n.nspname = 'auth'
        where r.rolname = $1
          and case
              when current_setting('server_version_num')::integer >= 160000
              then pg_has_role(current_user, r.oid, 'set')
              else pg_has_role(current_user, r.oid, 'member')
          end
          and has_table_privilege(r.oid, c.oid, 'insert')
          and has_table_privilege(r.oid, c.oid, 'delete'))";

/// Whether the login may assume the schema's owner, and that role has rights on its tables.
pub(super) async fn may_act_as_owner(client: &Client) -> Outcome<bool> {
    Ok(client.query_one(MAY_ACT_AS_OWNER, &[&OWNER]).await?.get(0))
}

/// Row level security without policies hides all rows from roles that do not own the tables. Rows of the
/// audit log are only written and listed.
const HIDDEN_TABLES: &str = "
    select c.relname::text
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'auth' and c.relname = any($1::text[])
      and not (
          has_schema_privilege(n.oid, 'usage')
          and has_table_privilege(c.oid, 'select')
          and has_table_privilege(c.oid, 'insert')
          and (c.relname = 'audit_log_entries'
              or has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
          and not row_security_active(c.oid))
    union all
    select c.relname::text
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'auth' and c.relkind = 'S' and c.relname = 'refresh_tokens_id_seq'
      and not has_sequence_privilege(c.oid, 'usage')
    order by 1";

/// Rejects a role that cannot read and write the tables; requests would fail one by one.
pub(super) async fn check(client: &Client) -> Outcome {
    let tables: Vec<&str> = REQUIRED_COLUMNS.iter().map(|(table, _)| *table).collect();
    let rows = client.query(HIDDEN_TABLES, &[&tables]).await?;
    let hidden: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if hidden.is_empty() {
        return Ok(());
    }
    let role: String = client
        .query_one("select current_user::text", &[])
        .await?
        .get(0);
    let text = format!(
        "the database role {role} may not read and write all rows of the schema auth: {}",
        hidden.join(", ")
    );
    Err(Failure::new(Kind::Failure, text).next_step(format!(
        "Use the owner of the tables in DATABASE_URL, or a member of it: grant {OWNER} to {role}"
    )))
}
