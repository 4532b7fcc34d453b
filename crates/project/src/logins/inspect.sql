-- $1: the logins, $2: the database. One row per login that exists.
select login.rolname::text as name,
       login.rolcanlogin and not login.rolinherit and not login.rolsuper
         and not login.rolcreaterole and not login.rolcreatedb and not login.rolreplication
         and not login.rolbypassrls
         and coalesce(login.rolvaliduntil, 'infinity') = 'infinity' as has_attributes,
       login.rolconnlimit as connection_limit,
       pg_catalog.has_database_privilege(login.oid, $2, 'connect') as may_connect,
       array(
         select assumed.rolname::text
         from pg_catalog.pg_auth_members member
         join pg_catalog.pg_roles assumed on assumed.oid = member.roleid
         where member.member = login.oid
       ) as member_of,
       array(
         select case setting.setdatabase when 0 then '' else 'in this database: ' end || entry
         from pg_catalog.pg_db_role_setting setting
         cross join lateral unnest(setting.setconfig) entry
         where setting.setrole = login.oid
           and setting.setdatabase in (
             0, (select oid from pg_catalog.pg_database where datname = $2)
           )
       ) as settings,
       PASSWORD as verifier
from CATALOG login
where login.rolname = any($1)
