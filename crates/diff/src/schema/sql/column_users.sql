-- What depends on single columns.
select d.classid as class, d.objid as object, d.refobjid as relation, d.refobjsubid::int4 as number,
       -- The generated column that is computed of it.
       (select a.attname::text from pg_attrdef f
        join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
        where d.classid = 'pg_attrdef'::regclass and f.oid = d.objid and a.attgenerated <> ''
          and a.attnum <> d.refobjsubid) as generated
from pg_depend d
where d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.objid >= 16384
  and d.deptype in ('n', 'a', 'i')
  and not (d.classid = 'pg_class'::regclass and d.objid = d.refobjid)
