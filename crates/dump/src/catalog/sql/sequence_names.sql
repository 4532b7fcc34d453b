-- Sequences whose values belong to a dump, those of identity columns included.
select format('%I.%I', n.nspname, c.relname)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind = 'S' and c.relpersistence <> 't'
  and (not exists (select from pg_depend d
                   where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
       or exists (select from pg_extension e where c.oid = any (e.extconfig)))
order by n.nspname, c.relname
