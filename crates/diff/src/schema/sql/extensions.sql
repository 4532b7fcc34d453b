-- Where extensions are and which version.
select e.oid as object, n.nspname::text as schema, e.extversion as version
from pg_extension e
join pg_namespace n on n.oid = e.extnamespace
where e.oid >= 16384
