-- $1: exposed schemas. First the aggregates over rows (`anyelement`: of any relation), then the
-- functions that return a media type themselves, with the domain as the handler.
with media_types as (
  select t.oid, t.typname as name, n.nspname as schema
  from pg_type t
  join pg_namespace n on n.oid = t.typnamespace
  where t.typtype = 'd'
    and (t.typname = '*/*' or t.typname ~ '^[A-Za-z0-9.-]+/[A-Za-z0-9.+-]+$')
)
select
  n.nspname as schema,
  p.proname as name,
  row_n.nspname as target_schema,
  row_type.typname as target_name,
  row_type.oid = 'anyelement'::regtype as is_for_any,
  m.name as media_type
from media_types m
join pg_proc p on p.prorettype = m.oid and p.prokind = 'a'
join pg_namespace n on n.oid = p.pronamespace
join pg_type row_type on row_type.oid = p.proargtypes[0]
join pg_namespace row_n on row_n.oid = row_type.typnamespace
left join pg_class relation on relation.oid = row_type.typrelid
where n.nspname = any($1)
  and p.pronargs = 1
  and (relation.relkind in ('r', 'v', 'm', 'f', 'p') or row_type.oid = 'anyelement'::regtype)
union all
select m.schema, m.name, n.nspname, p.proname, false, m.name
from media_types m
join pg_proc p on p.prorettype = m.oid and p.prokind = 'f'
join pg_namespace n on n.oid = p.pronamespace
where n.nspname = any($1)
  and not p.proretset
order by schema, name
