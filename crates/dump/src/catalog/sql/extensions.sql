-- Extensions, created by their owner: a trusted one by any role with CREATE on the database.
select 'pg_extension'::regclass::oid as class, e.oid as object, e.extname::text as name,
       null::oid as relation,
       format('set role %I;
create extension if not exists %I with schema %I%s;
reset role;',
              pg_get_userbyid(e.extowner), e.extname, n.nspname,
              case when exists (select from pg_available_extension_versions v
                                where v.name = e.extname and v.version = e.extversion)
                   then format(' version %L', e.extversion) end) as sql
from pg_extension e
join pg_namespace n on n.oid = e.extnamespace
where e.oid >= 16384
