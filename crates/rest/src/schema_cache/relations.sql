-- $1: exposed schemas. `events` are the bits of pg_relation_is_updatable: 4 update, 8 insert,
-- 16 delete. The function is called only for views and foreign tables.
select
  c.oid,
  n.nspname as schema,
  c.relname as name,
  d.description as comment,
  c.relkind in ('v', 'm') as is_view,
  case
    when c.relkind in ('r', 'p') then 28
    when c.relkind in ('v', 'f') then pg_relation_is_updatable(c.oid, true)
    else 0
  end as events
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_description d
  on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
where n.nspname = any($1)
  and c.relkind in ('r', 'v', 'm', 'f', 'p')
  and not c.relispartition
