-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    n.oid::int8 as id,
    n.nspname as name,
    pg_get_userbyid(n.nspowner) as owner,
    obj_description(n.oid, 'pg_namespace') as comment,
    x.extname as extension
  from pg_namespace n
  left join pg_depend d
    on d.classid = 'pg_namespace'::regclass and d.objid = n.oid and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  where ($1 or not starts_with(n.nspname, 'pg_') and n.nspname <> 'information_schema')
    and not starts_with(n.nspname, 'pg_temp_')
    and not starts_with(n.nspname, 'pg_toast_temp_')
    and ($2::oid[] is null or n.oid = any ($2))
    and (
      pg_has_role(n.nspowner, 'usage')
      or has_schema_privilege(n.oid, 'create, usage')
    )
    and (not $3 or has_schema_privilege(n.oid, 'usage'))
  order by n.nspname
) r
