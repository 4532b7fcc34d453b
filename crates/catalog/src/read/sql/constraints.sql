-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    k.oid::int8 as id,
    k.conname as name,
    k.conrelid::int8 as table_id,
    n.nspname as schema,
    c.relname as table,
    case k.contype
      when 'c' then 'check' when 'f' then 'foreign_key' when 'p' then 'primary_key'
      when 'u' then 'unique' when 'x' then 'exclusion' else 'trigger'
    end as kind,
    coalesce((
      select json_agg(a.attname order by place)
      from unnest(k.conkey) with ordinality u (attnum, place)
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum
    ), '[]') as columns,
    pg_get_constraintdef(k.oid) as definition,
    k.convalidated as is_validated,
    k.condeferrable as is_deferrable,
    k.condeferred as is_deferred,
    rn.nspname as referenced_schema,
    rc.relname as referenced_table,
    coalesce((
      select json_agg(a.attname order by place)
      from unnest(k.confkey) with ordinality u (attnum, place)
      join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.attnum
    ), '[]') as referenced_columns,
    case when k.contype = 'f' then case k.confupdtype
      when 'r' then 'RESTRICT' when 'c' then 'CASCADE' when 'n' then 'SET NULL'
      when 'd' then 'SET DEFAULT' else 'NO ACTION'
    end end as on_update,
    case when k.contype = 'f' then case k.confdeltype
      when 'r' then 'RESTRICT' when 'c' then 'CASCADE' when 'n' then 'SET NULL'
      when 'd' then 'SET DEFAULT' else 'NO ACTION'
    end end as on_delete,
    obj_description(k.oid, 'pg_constraint') as comment,
    x.extname as extension
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_class rc on rc.oid = k.confrelid
  left join pg_namespace rn on rn.oid = rc.relnamespace
  left join pg_depend d
    on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.objsubid = 0 and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  -- Since PostgreSQL 18, NOT NULL is one; that is shown with the column.
  where k.contype <> 'n'
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or k.oid = any ($2))
    and not pg_is_other_temp_schema(n.oid)
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname, k.conname
) r
