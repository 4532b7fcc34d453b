-- Foreign keys. Those of partitions come with their parent's.
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%I.%I %I', n.nspname, c.relname, k.conname) as name, c.oid as relation,
       format('alter table %s%I.%I add constraint %I %s;', case when c.relkind <> 'p' then 'only ' end,
              n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)) as sql
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.oid >= 16384 and k.contype = 'f' and k.conparentid = 0 and c.relpersistence <> 't'
