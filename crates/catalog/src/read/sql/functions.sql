-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    p.oid::int8 as id,
    n.nspname as schema,
    p.proname as name,
    l.lanname as language,
    case when l.lanname = 'internal' then '' else p.prosrc end as definition,
    case
      when l.lanname = 'internal' then p.prosrc else pg_get_functiondef(p.oid)
    end as complete_statement,
    coalesce(a.args, '[]') as args,
    pg_get_function_arguments(p.oid) as argument_types,
    pg_get_function_identity_arguments(p.oid) as identity_argument_types,
    p.prorettype::int8 as return_type_id,
    pg_get_function_result(p.oid) as return_type,
    nullif(t.typrelid, 0)::int8 as return_type_relation_id,
    p.proretset as is_set_returning_function,
    case when p.proretset then nullif(p.prorows, 0) end as prorows,
    case p.provolatile when 'i' then 'IMMUTABLE' when 's' then 'STABLE' else 'VOLATILE' end
      as behavior,
    p.prosecdef as security_definer,
    s.settings as config_params,
    obj_description(p.oid, 'pg_proc') as comment,
    x.extname as extension
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_language l on l.oid = p.prolang
  join pg_type t on t.oid = p.prorettype
  cross join lateral (
    select json_agg(
      json_build_object(
        'mode', case coalesce(p.proargmodes[place], 'i')
          when 'i' then 'in' when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic'
          else 'table'
        end,
        'name', coalesce(p.proargnames[place], ''),
        'type_id', type_id::int8,
        'has_default',
          coalesce(p.proargmodes[place], 'i') in ('i', 'b', 'v')
          and inputs > p.pronargs - p.pronargdefaults
      ) order by place
    ) as args
    from (
      select
        type_id,
        place,
        count(*) filter (where coalesce(p.proargmodes[place], 'i') in ('i', 'b', 'v'))
          over (order by place) as inputs
      from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality u (type_id, place)
    ) u
  ) a
  cross join lateral (
    select json_object_agg(
      split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)
    ) as settings
    from unnest(p.proconfig) setting
  ) s
  left join pg_depend d
    on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  where p.prokind = 'f'
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or p.oid = any ($2))
    and (not $3 or has_schema_privilege(n.oid, 'usage'))
  order by n.nspname, p.proname, p.oid
) r
