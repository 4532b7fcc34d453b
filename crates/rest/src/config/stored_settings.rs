//! Where settings of roles are stored.

use plinth_project::RoleSettingsSource;

/// Replaces `STORED` in a query: a table with the columns role (its oid), name, value and
/// is_of_database, which is false for settings of a role in all databases.
pub(super) fn stored(source: RoleSettingsSource) -> &'static str {
    match source {
        RoleSettingsSource::Project => OF_PROJECT,
        RoleSettingsSource::Catalog => IN_CATALOG,
    }
}

const OF_PROJECT: &str = "(
    select role.oid as role, setting.name, setting.value, true as is_of_database
    from plinth_roles.settings setting
    join pg_catalog.pg_roles role on role.rolname = setting.role
  )";

const IN_CATALOG: &str = "(
    select setting.setrole as role,
           split_part(entry, '=', 1) as name,
           substr(entry, strpos(entry, '=') + 1) as value,
           setting.setdatabase <> 0 as is_of_database
    from pg_catalog.pg_db_role_setting setting
    cross join lateral unnest(setting.setconfig) entry
    where setting.setdatabase in (
      0, (select oid from pg_catalog.pg_database where datname = current_database())
    )
  )";
