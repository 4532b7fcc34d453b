-- Row level security and replica identity of tables.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, c.oid as relation,
       concat(
           case when c.relrowsecurity then format(E'alter table only %I.%I enable row level security;\n', n.nspname, c.relname) end,
           case when c.relforcerowsecurity then format(E'alter table only %I.%I force row level security;\n', n.nspname, c.relname) end,
           case c.relreplident
                when 'n' then format(E'alter table only %I.%I replica identity nothing;\n', n.nspname, c.relname)
                when 'f' then format(E'alter table only %I.%I replica identity full;\n', n.nspname, c.relname) end) as sql
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind in ('r', 'p') and c.relpersistence <> 't'
  and (c.relrowsecurity or c.relforcerowsecurity or c.relreplident in ('n', 'f'))
