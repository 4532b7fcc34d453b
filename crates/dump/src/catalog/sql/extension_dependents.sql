-- Objects that were told to go when an extension goes.
select d.classid as class, d.objid as object, format('%s %s', i.type, i.identity) as name,
       null::oid as relation,
       format('alter %s %s depends on extension %I;', i.type, i.identity, e.extname) as sql
from pg_depend d
join pg_extension e on e.oid = d.refobjid
cross join lateral pg_identify_object(d.classid, d.objid, d.objsubid) i
where d.refclassid = 'pg_extension'::regclass and d.deptype = 'x'
