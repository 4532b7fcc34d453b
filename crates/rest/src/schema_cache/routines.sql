-- $1: exposed schemas. Names and modes are of all parameters, types and defaults of input ones.
-- A domain over a row type counts as that row type.
with recursive domain_steps as (
  select oid, typbasetype as base
  from pg_type
  where typtype = 'd'
  union all
  select s.oid, t.typbasetype
  from domain_steps s
  join pg_type t on t.oid = s.base
  where t.typtype = 'd'
),
domains as (
  select s.oid, s.base
  from domain_steps s
  join pg_type b on b.oid = s.base
  where b.typtype <> 'd'
)
select
  p.oid,
  n.nspname as schema,
  p.proname as name,
  d.description as comment,
  p.proargnames as param_names,
  p.proargmodes::text[] as param_modes,
  array(
    select format_type(input.type, null)
    from unnest(p.proargtypes) with ordinality as input(type, place)
    order by input.place
  ) as input_types,
  p.pronargdefaults as default_count,
  p.provariadic <> 0 as has_variadic,
  p.proretset as returns_set,
  result_n.nspname as result_schema,
  coalesce(result_class.relname, result.typname) as result_name,
  result.typtype = 'c' as result_is_row,
  p.provolatile::text as volatility,
  p.proconfig as settings
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
left join domains on domains.oid = p.prorettype
join pg_type result on result.oid = coalesce(domains.base, p.prorettype)
join pg_namespace result_n on result_n.oid = result.typnamespace
left join pg_class result_class on result_class.oid = result.typrelid
left join pg_description d
  on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid and d.objsubid = 0
where n.nspname = any($1)
  and p.prokind = 'f'
  and p.prorettype <> 'trigger'::regtype
