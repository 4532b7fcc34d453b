-- Indexes that no constraint made.
select 'pg_class'::regclass::oid as class, i.oid as object,
       format('%I.%I', n.nspname, i.relname) as name, x.indrelid as relation,
       concat(
           pg_get_indexdef(i.oid), ';',
           (select format(E'\nalter index %I.%I set tablespace %I;', n.nspname, i.relname, s.spcname)
            from pg_tablespace s where s.oid = i.reltablespace)) as sql
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_namespace n on n.oid = i.relnamespace
join pg_class c on c.oid = x.indrelid and c.relkind in ('r', 'p', 'm')
where i.oid >= 16384 and c.relpersistence <> 't' and (x.indisvalid or c.relkind = 'p') and x.indisready
  and not exists (select from pg_constraint k where k.conindid = i.oid and k.contype in ('p', 'u', 'x'))
