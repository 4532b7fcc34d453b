-- Which columns have a type, or an array, domain or row of it: pairs of a type and a column's table.
select d.refobjid as type, d.objid as object, d.objsubid::int4 as number
from pg_depend d
join pg_class c on c.oid = d.objid and c.relkind in ('r', 'p', 'f')
where d.classid = 'pg_class'::regclass and d.objsubid > 0
  and d.refclassid = 'pg_type'::regclass and d.refobjid >= 16384
