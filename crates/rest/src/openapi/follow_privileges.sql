-- $1: schema (text); an unknown one is an error. `functions`: input types, by oid of the function.
with schema as materialized (
  select pg_catalog.quote_ident($1)::pg_catalog.regnamespace as oid
)
select
  array(
    select c.oid
    from pg_catalog.pg_class c
    where c.relnamespace = schema.oid
      and c.relkind in ('r', 'v', 'm', 'f', 'p')
      and not c.relispartition
      and (
        pg_catalog.pg_has_role(c.relowner, 'usage')
        or pg_catalog.has_table_privilege(
          c.oid,
          'select, insert, update, delete, truncate, references, trigger'
        )
        or pg_catalog.has_any_column_privilege(c.oid, 'select, insert, update, references')
      )
  ) as relations,
  (
    select coalesce(pg_catalog.json_object_agg(p.oid, input.types), '{}')
    from pg_catalog.pg_proc p
    cross join lateral (
      select array(
        select pg_catalog.format_type(param.type, null)
        from pg_catalog.unnest(p.proargtypes) with ordinality as param(type, place)
        order by param.place
      ) as types
    ) input
    where p.pronamespace = schema.oid
      and p.prokind = 'f'
      and pg_catalog.has_function_privilege(p.oid, 'execute')
  ) as functions,
  pg_catalog.obj_description(schema.oid, 'pg_namespace') as schema_comment
from schema
