-- $1: also those that PostgreSQL defines; $2: only these ids; $3 does not matter
with sessions as materialized (
  select usesysid, count(*) as number
  from pg_stat_activity
  group by usesysid
)
select row_to_json(r)::text
from (
  select
    o.oid::int8 as id,
    o.rolname as name,
    o.rolsuper as is_superuser,
    o.rolcreatedb as can_create_db,
    o.rolcreaterole as can_create_role,
    o.rolinherit as inherit_role,
    o.rolcanlogin as can_login,
    o.rolreplication as is_replication_role,
    o.rolbypassrls as can_bypass_rls,
    coalesce(s.number, 0) as active_connections,
    case
      when o.rolconnlimit = -1 then current_setting('max_connections')::int8
      else o.rolconnlimit
    end as connection_limit,
    o.rolpassword as password,
    o.rolvaliduntil::text as valid_until,
    (
      select json_object_agg(
        split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)
      )
      from unnest(o.rolconfig) setting
    ) as config,
    coalesce((
      select json_agg(g.rolname order by g.rolname)
      from (select distinct roleid from pg_auth_members where member = o.oid) m
      join pg_roles g on g.oid = m.roleid
    ), '[]') as member_of,
    shobj_description(o.oid, 'pg_authid') as comment
  from pg_roles o
  left join sessions s on s.usesysid = o.oid
  where ($1 or not starts_with(o.rolname, 'pg_'))
    and ($2::oid[] is null or o.oid = any ($2))
    and $3::boolean is not null
  order by o.rolname
) r
