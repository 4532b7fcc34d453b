-- $1, $2: schemas and names, side by side. Those that a relation or function has.
select asked.schema, asked.name
from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) as asked (schema, name)
join pg_catalog.pg_namespace n on n.nspname = asked.schema
where exists (
    select 1
    from pg_catalog.pg_class c
    where c.relnamespace = n.oid
      and c.relname = asked.name
  )
  or exists (
    select 1
    from pg_catalog.pg_proc p
    where p.pronamespace = n.oid
      and p.proname = asked.name
  )
