-- Rows of materialized views, computed anew by their owners.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, c.oid as relation,
       format('refresh materialized view %I.%I;', n.nspname, c.relname) as sql
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind = 'm' and c.relispopulated
