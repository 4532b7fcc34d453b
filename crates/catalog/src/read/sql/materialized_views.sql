-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    c.oid::int8 as id,
    n.nspname as schema,
    c.relname as name,
    c.relispopulated as is_populated,
    obj_description(c.oid, 'pg_class') as comment,
    pg_get_viewdef(c.oid) as definition
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'm'
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname
) r
