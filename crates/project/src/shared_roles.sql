-- Entries of shared roles that are not in the table of this database, and passwords of roles that
-- cannot log in. `is_default`: what earlier versions of Plinth set in all databases.
select role.rolname::text as role,
       entry.name as setting,
       entry.is_of_database,
       current_database()::text as database,
       not entry.is_of_database and entry.name = 'statement_timeout'
         and (role.rolname, entry.value) in (
           ('anon', '3s'), ('authenticated', '8s'), ('authenticator', '8s')
         ) as is_default
from pg_catalog.pg_roles role
join lateral (
  select split_part(text, '=', 1) as name,
         substr(text, strpos(text, '=') + 1) as value,
         setting.setdatabase <> 0 as is_of_database
  from pg_catalog.pg_db_role_setting setting
  cross join lateral unnest(setting.setconfig) text
  where setting.setrole = role.oid
    and setting.setdatabase in (
      0, (select oid from pg_catalog.pg_database where datname = current_database())
    )
) entry on true
where role.rolname in ('anon', 'authenticated', 'service_role', 'authenticator', 'postgres')
  and not (
    entry.is_of_database
    and exists (
      select from plinth_roles.settings own
      where own.role = role.rolname and own.name = entry.name and own.value = entry.value
    )
  )
union all
select role.rolname::text, null, false, current_database()::text, false
from pg_catalog.pg_authid role
where role.rolname in ('anon', 'authenticated', 'service_role', 'authenticator', 'postgres')
  and role.rolpassword is not null
order by 1, 2
