-- Defaults of columns, of tables and of views.
select 'pg_attrdef'::regclass::oid as class, d.oid as object,
       format('%I.%I.%I', n.nspname, c.relname, a.attname) as name, c.oid as relation,
       format('alter table only %I.%I alter column %I set default %s;', n.nspname, c.relname,
              a.attname, pg_get_expr(d.adbin, d.adrelid)) as sql
from pg_attrdef d
join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
join pg_class c on c.oid = d.adrelid
join pg_namespace n on n.oid = c.relnamespace
where d.oid >= 16384 and a.attgenerated = '' and c.relpersistence <> 't'
