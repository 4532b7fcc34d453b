-- $1, $2: arrays of schemas and names. Returns the pairs that name a relation or function.
select requested.schema, requested.name
from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) as requested (schema, name)
join pg_catalog.pg_namespace n on n.nspname = requested.schema
where exists (
    select 1
    from pg_catalog.pg_class c
    where c.relnamespace = n.oid
      and c.relname = requested.name
  )
  or exists (
    select 1
    from pg_catalog.pg_proc p
    where p.pronamespace = n.oid
      and p.proname = requested.name
  )
