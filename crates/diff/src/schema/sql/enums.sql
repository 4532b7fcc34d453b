-- Labels of enum types.
select t.oid as object,
       coalesce((select array_agg(e.enumlabel::text order by e.enumsortorder)
                 from pg_enum e where e.enumtypid = t.oid), '{}') as labels
from pg_type t where t.oid >= 16384 and t.typtype = 'e'
