-- $1: schema, $2: name. One row per column; one without a column for a relation that has none.
select c.oid::int8 as oid, c.relkind::text as kind, c.reltuples::float8 as estimate,
       c.relispopulated as is_populated,
       pg_catalog.row_security_active(c.oid) as has_row_security,
       pg_catalog.pg_relation_is_updatable(c.oid, true) as events,
       a.attname::text as name, a.attnum as number, t.oid::int8 as type_oid,
       pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
       tn.nspname::text as type_schema, t.typname::text as type_name,
       b.typname::text as base_name, b.typcategory::text as category, b.typlen as base_length,
       b.typnamespace = 'pg_catalog'::regnamespace as is_builtin,
       a.attnotnull or t.typnotnull as is_not_null, a.atthasdef as has_default,
       a.attgenerated <> '' as is_generated, a.attidentity::text as identity,
       array_position(k.numbers, a.attnum) as key_position
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
left join lateral (
    with recursive base as (
        select t.oid, t.typtype, t.typbasetype
        union all
        select inner_type.oid, inner_type.typtype, inner_type.typbasetype
        from base
        join pg_catalog.pg_type inner_type on inner_type.oid = base.typbasetype
        where base.typtype = 'd'
    )
    select base_type.*
    from base
    join pg_catalog.pg_type base_type on base_type.oid = base.oid
    where base.typtype <> 'd'
) b on true
-- The primary key, else a unique index that no row can be missing from.
left join lateral (
    select array(select unnest(i.indkey[0:i.indnkeyatts - 1])::int2) as numbers
    from pg_catalog.pg_index i
    where i.indrelid = c.oid
      and i.indisunique and i.indimmediate and i.indisvalid
      and i.indpred is null and i.indexprs is null
      and (i.indisprimary or not exists (
            select from unnest(i.indkey[0:i.indnkeyatts - 1]) key(number)
            join pg_catalog.pg_attribute ka on ka.attrelid = c.oid and ka.attnum = key.number
            where not ka.attnotnull
              -- No column of a materialised view is known to be without NULLs.
              and not (c.relkind = 'm' and i.indnullsnotdistinct)))
    order by i.indisprimary desc, i.indnkeyatts, i.indexrelid
    limit 1
) k on true
where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm', 'f')
order by a.attnum
