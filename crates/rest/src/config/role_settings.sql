-- $1: the login role. Settings of the roles that it can assume, directly or through another.
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
  select distinct on (role.oid, stored.name)
         role.rolname::text as role,
         stored.name,
         stored.value
  from assumable
  join pg_catalog.pg_roles role on role.oid = assumable.id
  join STORED stored on stored.role = role.oid
  order by role.oid, stored.name, stored.is_of_database desc
)
select given.role, given.name, given.value
from given
join pg_catalog.pg_settings known on known.name = given.name
where known.context = 'user' or MAY_BE_SET
order by given.role, given.name
