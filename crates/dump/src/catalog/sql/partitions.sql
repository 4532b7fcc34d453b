-- Partitions join their parents once both are there.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, c.oid as relation,
       format('alter table only %I.%I attach partition %I.%I %s;', pn.nspname, p.relname,
              n.nspname, c.relname, pg_get_expr(c.relpartbound, c.oid)) as sql
from pg_inherits h
join pg_class c on c.oid = h.inhrelid and c.relispartition and c.relkind in ('r', 'p', 'f')
join pg_namespace n on n.oid = c.relnamespace
join pg_class p on p.oid = h.inhparent
join pg_namespace pn on pn.oid = p.relnamespace
where c.oid >= 16384
