-- $1: also system schemas; $2: only of these relations; $3: only what the role may read. What is
-- granted on a relation counts for each of its columns.
with relations as materialized (
  select c.oid, c.relname, n.nspname, c.relacl, c.relowner
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
),
grants as (
  select a.attrelid, a.attnum, g.grantor, g.grantee, g.privilege_type, g.is_grantable
  from relations c
  cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) g
  join pg_attribute a on a.attrelid = c.oid
  union
  select a.attrelid, a.attnum, g.grantor, g.grantee, g.privilege_type, g.is_grantable
  from relations c
  join pg_attribute a on a.attrelid = c.oid
  cross join lateral aclexplode(a.attacl) g
)
select row_to_json(r)::text
from (
  select
    a.attrelid || '.' || a.attnum as column_id,
    c.nspname as relation_schema,
    c.relname as relation_name,
    a.attname as column_name,
    json_agg(
      json_build_object(
        'grantor', pg_get_userbyid(g.grantor),
        'grantee', case when g.grantee = 0 then 'PUBLIC' else pg_get_userbyid(g.grantee) end,
        'privilege_type', g.privilege_type,
        'is_grantable', g.is_grantable
      )
    ) as privileges
  from grants g
  join relations c on c.oid = g.attrelid
  join pg_attribute a on a.attrelid = g.attrelid and a.attnum = g.attnum
  where a.attnum > 0
    and not a.attisdropped
    and g.privilege_type in ('INSERT', 'SELECT', 'UPDATE', 'REFERENCES')
    and (
      g.grantee = 0
      or pg_has_role(g.grantor, 'usage')
      or pg_has_role(g.grantee, 'usage')
    )
  group by c.nspname, c.relname, a.attrelid, a.attnum, a.attname
  order by c.nspname, c.relname, a.attnum
) r
