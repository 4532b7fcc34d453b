-- Tables whose rows belong to a dump: all but those of extensions, and of these the ones that the
-- extension names.
with configured as (
    select t.relation, t.condition
    from pg_extension e
    cross join lateral unnest(e.extconfig, e.extcondition) as t (relation, condition)
)
select format('%I.%I', n.nspname, c.relname) as name,
       coalesce((select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
                 from pg_attribute a
                 where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                   and a.attgenerated = ''), '') as columns,
       nullif(k.condition, '') as condition,
       r.rolsuper as is_superusers,
       pg_table_size(c.oid) as bytes
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_roles r on r.oid = c.relowner
left join configured k on k.relation = c.oid
where c.oid >= 16384 and c.relkind = 'r' and c.relpersistence <> 't'
  and (k.relation is not null
       or not exists (select from pg_depend d
                      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'))
order by n.nspname, c.relname
