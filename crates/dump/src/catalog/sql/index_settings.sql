-- What is said about an index once it is there: statistics of its expressions, that the table is
-- clustered by it, that it identifies rows for replication.
select 'pg_class'::regclass::oid as class, i.oid as object,
       format('%I.%I', n.nspname, i.relname) as name, x.indrelid as relation,
       concat(
           (select string_agg(format(E'alter index %I.%I alter column %s set statistics %s;\n',
                                     n.nspname, i.relname, a.attnum, a.attstattarget), '' order by a.attnum)
            from pg_attribute a where a.attrelid = i.oid and a.attstattarget >= 0),
           case when x.indisclustered then
                format(E'alter %s %I.%I cluster on %I;\n',
                       case c.relkind when 'm' then 'materialized view' else 'table' end,
                       n.nspname, c.relname, i.relname) end,
           case when x.indisreplident then
                format(E'alter table only %I.%I replica identity using index %I;\n', n.nspname, c.relname, i.relname)
                end) as sql
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_namespace n on n.oid = i.relnamespace
join pg_class c on c.oid = x.indrelid and c.relkind in ('r', 'p', 'm')
where i.oid >= 16384 and c.relpersistence <> 't'
  and (x.indisclustered or x.indisreplident
       or exists (select from pg_attribute a where a.attrelid = i.oid and a.attstattarget >= 0))
