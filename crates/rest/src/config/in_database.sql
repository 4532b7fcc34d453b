-- $1: whose settings count, $2: the names that count, $3: whether values of this session count.
select distinct on (name) substr(name, length('pgrst.') + 1) as name, value
from (
  select split_part(entry, '=', 1) as name,
         substr(entry, strpos(entry, '=') + 1) as value,
         case when setting.setdatabase = 0 then 2 else 3 end as strength
  from pg_catalog.pg_db_role_setting setting
  join pg_catalog.pg_roles role on role.oid = setting.setrole
  cross join lateral unnest(setting.setconfig) entry
  where role.rolname = $1
    and setting.setdatabase in (
      0, (select oid from pg_catalog.pg_database where datname = current_database())
    )
  union all
  select session_name, current_setting(session_name, true), 1
  from unnest($2::text[]) session_name
  where $3
) given
where name = any($2) and value is not null
order by name, strength desc
