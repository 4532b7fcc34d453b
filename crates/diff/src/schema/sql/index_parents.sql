-- Indexes of partitions, or the constraints that they belong to, with that of the parent.
select coalesce(ck.class, 'pg_class'::regclass) as class, coalesce(ck.oid, h.inhrelid) as object,
       coalesce(pk.class, 'pg_class'::regclass) as parent_class, coalesce(pk.oid, h.inhparent) as parent
from pg_inherits h
join pg_class i on i.oid = h.inhrelid and i.relkind in ('i', 'I')
left join lateral (select 'pg_constraint'::regclass::oid as class, k.oid from pg_constraint k
                   where k.conindid = h.inhrelid and k.contype in ('p', 'u', 'x')) ck on true
left join lateral (select 'pg_constraint'::regclass::oid as class, k.oid from pg_constraint k
                   where k.conindid = h.inhparent and k.contype in ('p', 'u', 'x')) pk on true
