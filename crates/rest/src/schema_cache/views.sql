-- $1: exposed schemas and those of the extra search path. The action of the select rule is the
-- view's query as a tree.
select c.oid, r.ev_action::text as query
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_rewrite r on r.ev_class = c.oid and r.ev_type = '1'
where n.nspname = any($1)
  and c.relkind in ('v', 'm')
