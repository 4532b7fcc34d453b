-- $1: the role, $2: the names of settings, $3: whether values of this session count.
select distinct on (name) substr(name, length('pgrst.') + 1) as name, value
from (
  select stored.name, stored.value, case when stored.is_of_database then 3 else 2 end as strength
  from STORED stored
  join pg_catalog.pg_roles role on role.oid = stored.role
  where role.rolname = $1
  union all
  select session_name, current_setting(session_name, true), 1
  from unnest($2::text[]) session_name
  where $3
) given
where name = any($2) and value is not null
order by name, strength desc
