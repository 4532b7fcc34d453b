-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    p.oid::int8 as id,
    n.nspname as schema,
    c.relname as table,
    c.oid::int8 as table_id,
    p.polname as name,
    case when p.polpermissive then 'PERMISSIVE' else 'RESTRICTIVE' end as action,
    case
      when p.polroles = '{0}' then json_build_array('public')
      else coalesce((
        select json_agg(o.rolname order by o.rolname)
        from pg_roles o
        where o.oid = any (p.polroles)
      ), '[]')
    end as roles,
    case p.polcmd
      when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' when 'd' then 'DELETE'
      else 'ALL'
    end as command,
    pg_get_expr(p.polqual, p.polrelid) as definition,
    pg_get_expr(p.polwithcheck, p.polrelid) as "check",
    obj_description(p.oid, 'pg_policy') as comment
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or p.oid = any ($2))
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname, p.polname
) r
