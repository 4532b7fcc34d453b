-- Every type that a column, an argument or a result may have.
select
  t.oid as id,
  t.typname::text as name,
  n.nspname::text as schema,
  t.typtype::text as kind,
  t.typbasetype as base,
  case when t.typcategory = 'A' and t.typlen = -1 then t.typelem else 0::oid end as element,
  t.typrelid as relation,
  coalesce(c.relkind::text, '') as relation_kind,
  coalesce(c.relname::text, '') as relation_name,
  coalesce(e.labels, '{}') as labels
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
left join pg_class c on c.oid = t.typrelid
left join (
  select enumtypid, array_agg(enumlabel::text order by enumsortorder) as labels
  from pg_enum
  group by enumtypid
) e on e.enumtypid = t.oid
