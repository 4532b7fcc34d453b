-- Transforms between types and languages.
select 'pg_transform'::regclass::oid as class, t.oid as object, i.identity as name,
       null::oid as relation,
       format('create transform for %s language %I (%s);', format_type(t.trftype, null), l.lanname,
              concat_ws(', ',
                  case when t.trffromsql <> 0
                       then format('from sql with function %s', t.trffromsql::regprocedure) end,
                  case when t.trftosql <> 0
                       then format('to sql with function %s', t.trftosql::regprocedure) end)) as sql
from pg_transform t
join pg_language l on l.oid = t.trflang
cross join lateral pg_identify_object('pg_transform'::regclass, t.oid, 0) i
where t.oid >= 16384
