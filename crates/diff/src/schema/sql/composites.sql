-- Attributes of composite types that stand alone.
select t.oid as object,
       coalesce(array_agg(quote_ident(a.attname) order by a.attnum) filter (where a.attnum is not null), '{}') as names,
       coalesce(array_agg(format_type(a.atttypid, a.atttypmod)
                          || case when a.attcollation <> at.typcollation
                                  then format(' collate %I.%I', cn.nspname, co.collname) else '' end
                          order by a.attnum) filter (where a.attnum is not null), '{}') as types
from pg_type t
join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
left join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
left join pg_type at on at.oid = a.atttypid
left join pg_collation co on co.oid = a.attcollation
left join pg_namespace cn on cn.oid = co.collnamespace
where t.oid >= 16384 and t.typtype = 'c'
group by t.oid
