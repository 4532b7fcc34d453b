-- Indexes of partitions join the index of their parent.
select 'pg_class'::regclass::oid as class, i.oid as object,
       format('%I.%I', n.nspname, i.relname) as name, x.indrelid as relation,
       format('alter index %I.%I attach partition %I.%I;', pn.nspname, p.relname, n.nspname, i.relname)
           as sql
from pg_inherits h
join pg_class i on i.oid = h.inhrelid and i.relkind in ('i', 'I')
join pg_index x on x.indexrelid = i.oid
join pg_namespace n on n.oid = i.relnamespace
join pg_class p on p.oid = h.inhparent
join pg_namespace pn on pn.oid = p.relnamespace
where i.oid >= 16384
