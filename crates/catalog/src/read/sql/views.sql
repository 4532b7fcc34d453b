-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    c.oid::int8 as id,
    n.nspname as schema,
    c.relname as name,
    -- Bits of UPDATE and DELETE, as in information_schema.views.
    pg_relation_is_updatable(c.oid, false) & 20 = 20 as is_updatable,
    obj_description(c.oid, 'pg_class') as comment,
    coalesce((
      select o.option_value::boolean
      from pg_options_to_table(c.reloptions) o
      where o.option_name = 'security_invoker'
    ), false) as security_invoker,
    pg_get_viewdef(c.oid) as definition
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'v'
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname
) r
