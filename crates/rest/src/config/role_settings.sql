-- $1: the login role. Settings of the roles that it may assume, directly or through another.
with recursive assumable as (
  select member.roleid as id
  from pg_catalog.pg_auth_members member
  join pg_catalog.pg_roles login on login.oid = member.member
  where login.rolname = $1
  union
  select member.roleid
  from pg_catalog.pg_auth_members member
  join assumable on assumable.id = member.member
),
given as (
  select distinct on (role.oid, entry.name)
         role.rolname::text as role,
         entry.name,
         entry.value
  from assumable
  join pg_catalog.pg_roles role on role.oid = assumable.id
  join pg_catalog.pg_db_role_setting setting on setting.setrole = role.oid
  cross join lateral (
    select split_part(text, '=', 1) as name,
           substr(text, strpos(text, '=') + 1) as value
    from unnest(setting.setconfig) text
  ) entry
  where setting.setdatabase in (
    0, (select oid from pg_catalog.pg_database where datname = current_database())
  )
  order by role.oid, entry.name, setting.setdatabase desc
)
select given.role, given.name, given.value
from given
join pg_catalog.pg_settings known on known.name = given.name
where known.context = 'user' or MAY_BE_SET
order by given.role, given.name
