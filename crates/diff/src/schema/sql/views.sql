-- Columns of views: `create or replace view` keeps them and adds to them.
select c.oid as object,
       array_agg(format('%I %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation)
                 order by a.attnum) as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.oid >= 16384 and c.relkind = 'v'
group by c.oid
