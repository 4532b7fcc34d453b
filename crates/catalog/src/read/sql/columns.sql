-- $1: also system schemas; $2: only of these relations; $3: only what the role may read
with relations as materialized (
  select
    c.oid, c.relname, c.relkind, n.nspname, pg_has_role(c.relowner, 'usage') as is_own
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
    and not pg_is_other_temp_schema(n.oid)
    and (not $3 or has_schema_privilege(n.oid, 'usage'))
),
enums as materialized (
  select enumtypid, json_agg(enumlabel order by enumsortorder) as labels
  from pg_enum
  group by enumtypid
),
uniques as materialized (
  select distinct conrelid, conkey[1] as attnum
  from pg_constraint
  where contype = 'u' and cardinality(conkey) = 1
),
checks as materialized (
  select distinct on (conrelid, conkey[1])
    conrelid, conkey[1] as attnum, pg_get_expr(conbin, conrelid, true) as expression
  from pg_constraint
  where contype = 'c' and cardinality(conkey) = 1
    and ($2::oid[] is null or conrelid = any ($2))
  order by conrelid, conkey[1], oid
)
select row_to_json(r)::text
from (
  select
    c.oid::int8 as table_id,
    c.nspname as schema,
    c.relname as table,
    c.oid || '.' || a.attnum as id,
    a.attnum as ordinal_position,
    a.attname as name,
    pg_get_expr(ad.adbin, ad.adrelid) as default_value,
    case
      when coalesce(bt.typelem, t.typelem) <> 0 and coalesce(bt.typlen, t.typlen) = -1 then 'ARRAY'
      when coalesce(bn.nspname, tn.nspname) = 'pg_catalog'
        then format_type(coalesce(bt.oid, t.oid), null)
      else 'USER-DEFINED'
    end as data_type,
    coalesce(bt.typname, t.typname) as format,
    a.attidentity <> '' as is_identity,
    case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end as identity_generation,
    a.attgenerated <> '' as is_generated,
    not (a.attnotnull or t.typtype = 'd' and t.typnotnull) as is_nullable,
    c.relkind in ('r', 'p')
      or c.relkind in ('v', 'f') and pg_column_is_updatable(c.oid, a.attnum, false) as is_updatable,
    u.conrelid is not null as is_unique,
    k.expression as "check",
    coalesce(e.labels, '[]') as enums,
    o.description as comment,
    format_type(a.atttypid, a.atttypmod) as full_type,
    a.atttypid::int8 as type_id
  from pg_attribute a
  join relations c on c.oid = a.attrelid
  join pg_type t on t.oid = a.atttypid
  join pg_namespace tn on tn.oid = t.typnamespace
  left join pg_type bt on t.typtype = 'd' and bt.oid = t.typbasetype
  left join pg_namespace bn on bn.oid = bt.typnamespace
  left join pg_attrdef ad on a.atthasdef and ad.adrelid = a.attrelid and ad.adnum = a.attnum
  left join uniques u on u.conrelid = a.attrelid and u.attnum = a.attnum
  left join checks k on k.conrelid = a.attrelid and k.attnum = a.attnum
  left join enums e
    on e.enumtypid = case
      when coalesce(bt.typelem, t.typelem) <> 0 then coalesce(bt.typelem, t.typelem)
      else coalesce(bt.oid, t.oid)
    end
  left join pg_description o
    on o.classoid = 'pg_class'::regclass and o.objoid = a.attrelid and o.objsubid = a.attnum
  where a.attnum > 0
    and not a.attisdropped
    and (
      c.is_own
      or has_column_privilege(c.oid, a.attnum, 'select, insert, update, references')
    )
    and (not $3 or has_column_privilege(c.oid, a.attnum, 'select'))
  order by c.nspname, c.relname, a.attnum
) r
