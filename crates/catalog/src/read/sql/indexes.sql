-- $1: also system schemas; $2: only these ids; $3: only what the role may read. A locked index has the
-- size that the last ANALYZE saw, as in `table_sizes.sql`.
with locked as materialized (
  select distinct relation
  from pg_locks
  where locktype = 'relation' and mode = 'AccessExclusiveLock' and pid <> pg_backend_pid()
)
select row_to_json(r)::text
from (
  select
    i.indexrelid::int8 as id,
    i.indrelid::int8 as table_id,
    n.nspname as schema,
    i.indnatts as number_of_attributes,
    i.indnkeyatts as number_of_key_attributes,
    i.indisunique as is_unique,
    i.indisprimary as is_primary,
    i.indisexclusion as is_exclusion,
    i.indimmediate as is_immediate,
    i.indisclustered as is_clustered,
    i.indisvalid as is_valid,
    i.indcheckxmin as check_xmin,
    i.indisready as is_ready,
    i.indislive as is_live,
    i.indisreplident as is_replica_identity,
    to_json(i.indkey::int2[]) as key_attributes,
    to_json(i.indcollation::oid[]::int8[]) as collation,
    to_json(i.indclass::oid[]::int8[]) as class,
    to_json(i.indoption::int2[]) as options,
    pg_get_expr(i.indpred, i.indrelid) as index_predicate,
    obj_description(i.indexrelid, 'pg_class') as comment,
    pg_get_indexdef(i.indexrelid) as index_definition,
    m.amname as access_method,
    a.attributes as index_attributes,
    c.relname as name,
    t.relname as table,
    k.conname as constraint,
    case
      when l.relation is null then coalesce(pg_relation_size(c.oid), 0)
      else greatest(c.relpages, 0) * current_setting('block_size')::int8
    end as bytes,
    coalesce(pg_stat_get_numscans(c.oid), 0) as scans,
    x.extname as extension
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_am m on m.oid = c.relam
  join pg_class t on t.oid = i.indrelid
  cross join lateral (
    select json_agg(
      json_build_object(
        'attribute_number', a.attnum,
        'attribute_name', a.attname,
        'data_type', format_type(a.atttypid, a.atttypmod)
      ) order by a.attnum
    ) as attributes
    from pg_attribute a
    where a.attrelid = i.indexrelid
  ) a
  left join pg_constraint k
    on k.conindid = i.indexrelid and k.conrelid = i.indrelid and k.contype in ('p', 'u', 'x')
  left join locked l on l.relation = c.oid
  left join pg_depend d
    on d.classid = 'pg_class'::regclass and d.objid = t.oid and d.objsubid = 0 and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  where ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or i.indexrelid = any ($2))
    and not pg_is_other_temp_schema(n.oid)
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(t.oid, 'select') or has_any_column_privilege(t.oid, 'select'))
    )
  order by n.nspname, c.relname
) r
