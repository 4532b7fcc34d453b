-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    c.oid::int8 as relation_id,
    n.nspname as schema,
    c.relname as name,
    case c.relkind
      when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized_view'
      when 'f' then 'foreign_table' else 'partitioned_table'
    end as kind,
    coalesce(p.privileges, '[]') as privileges
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select json_agg(
      json_build_object(
        'grantor', pg_get_userbyid(a.grantor),
        'grantee', case when a.grantee = 0 then 'PUBLIC' else pg_get_userbyid(a.grantee) end,
        'privilege_type', a.privilege_type,
        'is_grantable', a.is_grantable
      )
    ) as privileges
    from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
  ) p
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
    and not pg_is_other_temp_schema(n.oid)
    and (
      pg_has_role(c.relowner, 'usage')
      or has_table_privilege(c.oid, 'select, insert, update, delete, truncate, references, trigger')
      or has_any_column_privilege(c.oid, 'select, insert, update, references')
    )
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname
) r
