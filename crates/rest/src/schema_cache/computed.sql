-- $1: exposed schemas. Functions from one row of a relation in their own schema to rows of some
-- relation.
select
  n.nspname as schema,
  p.proname as name,
  origin.relname as origin_name,
  target_n.nspname as target_schema,
  target.relname as target_name,
  origin.oid = target.oid as is_self,
  not p.proretset or p.prorows = 1 as is_to_one
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
join pg_class origin on origin.reltype = p.proargtypes[0] and origin.relnamespace = n.oid
join pg_class target on target.reltype = p.prorettype
join pg_namespace target_n on target_n.oid = target.relnamespace
where n.nspname = any($1)
  and p.prokind = 'f'
  and p.pronargs = 1
  and origin.relkind in ('r', 'v', 'm', 'f', 'p')
  and target.relkind in ('r', 'v', 'm', 'f', 'p')
