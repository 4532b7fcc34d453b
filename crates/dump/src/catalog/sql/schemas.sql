-- Schemas. The one called public is made anew, so that it carries the source's rights and no other.
select 'pg_namespace'::regclass::oid as class, n.oid as object, n.nspname::text as name,
       null::oid as relation,
       format('create schema %1$I;
alter schema %1$I owner to %2$I;', n.nspname, pg_get_userbyid(n.nspowner)) as sql
from pg_namespace n
where (n.oid >= 16384 or n.nspname = 'public') and n.nspname !~ '^pg_(temp|toast_temp)_'
