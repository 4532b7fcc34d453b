-- What can be altered of a domain, and what cannot: its type.
select t.oid as object,
       format_type(t.typbasetype, t.typtypmod)
           || case when t.typcollation <> b.typcollation
                   then format(' collate %I.%I', cn.nspname, co.collname) else '' end as base,
       pg_get_expr(t.typdefaultbin, 'pg_type'::regclass) as default_value,
       t.typnotnull as is_not_null
from pg_type t
join pg_type b on b.oid = t.typbasetype
left join pg_collation co on co.oid = t.typcollation
left join pg_namespace cn on cn.oid = co.collnamespace
where t.oid >= 16384 and t.typtype = 'd'
