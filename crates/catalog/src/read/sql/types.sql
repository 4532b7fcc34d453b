-- $1: also system schemas; $2: only these ids; $3: only what the role may read
with enums as materialized (
  select enumtypid, json_agg(enumlabel order by enumsortorder) as labels
  from pg_enum
  group by enumtypid
)
select row_to_json(r)::text
from (
  select
    t.oid::int8 as id,
    t.typname as name,
    n.nspname as schema,
    format_type(t.oid, null) as format,
    coalesce(e.labels, '[]') as enums,
    coalesce(a.attributes, '[]') as attributes,
    obj_description(t.oid, 'pg_type') as comment,
    nullif(t.typrelid, 0)::int8 as type_relation_id,
    case t.typtype
      when 'c' then 'composite' when 'd' then 'domain' when 'e' then 'enum' when 'r' then 'range'
      when 'm' then 'multirange' when 'p' then 'pseudo' else 'base'
    end as kind,
    case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) end as base_type,
    x.extname as extension
  from pg_type t
  join pg_namespace n on n.oid = t.typnamespace
  left join pg_class c on c.oid = t.typrelid
  left join enums e on e.enumtypid = t.oid
  cross join lateral (
    select json_agg(
      json_build_object('name', a.attname, 'type_id', a.atttypid::int8) order by a.attnum
    ) as attributes
    from pg_attribute a
    where c.relkind = 'c' and a.attrelid = t.typrelid and not a.attisdropped
  ) a
  left join pg_depend d
    on d.classid = 'pg_type'::regclass and d.objid = t.oid and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  where (t.typrelid = 0 or c.relkind = 'c')
    -- Not the arrays of others.
    and not exists (select from pg_type el where el.oid = t.typelem and el.typarray = t.oid)
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or t.oid = any ($2))
    and (not $3 or has_schema_privilege(n.oid, 'usage'))
  order by n.nspname, t.typname
) r
