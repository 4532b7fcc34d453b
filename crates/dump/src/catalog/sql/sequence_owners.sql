-- Which column a sequence belongs to.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, d.refobjid as relation,
       format('alter sequence %I.%I owned by %I.%I.%I;',
              n.nspname, c.relname, tn.nspname, t.relname, a.attname) as sql
from pg_depend d
join pg_class c on c.oid = d.objid and c.relkind = 'S'
join pg_namespace n on n.oid = c.relnamespace
join pg_class t on t.oid = d.refobjid
join pg_namespace tn on tn.oid = t.relnamespace
join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
  and d.deptype = 'a' and d.refobjsubid > 0 and c.oid >= 16384 and c.relpersistence <> 't'
