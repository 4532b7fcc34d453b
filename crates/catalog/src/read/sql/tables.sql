-- $1: also system schemas; $2: only these ids; $3: only what the role may read
with wanted as materialized (
  select c.*, n.nspname
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p')
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
),
primary_keys as materialized (
  select i.indrelid, json_agg(
    json_build_object(
      'table_id', i.indrelid::int8, 'schema', w.nspname, 'table_name', w.relname, 'name', a.attname
    ) order by array_position(i.indkey, a.attnum)
  ) as columns
  from pg_index i
  join wanted w on w.oid = i.indrelid
  join pg_attribute a
    on a.attrelid = i.indrelid and a.attnum = any (i.indkey[0:i.indnkeyatts - 1])
  where i.indisprimary
  group by i.indrelid
),
foreign_keys as materialized (
  select k.conrelid, k.confrelid, k.conname, key.place, json_build_object(
    'id', k.oid::int8,
    'constraint_name', k.conname,
    'source_schema', sn.nspname,
    'source_table_name', sc.relname,
    'source_column_name', sa.attname,
    'target_table_schema', tn.nspname,
    'target_table_name', tc.relname,
    'target_column_name', ta.attname
  ) as pair
  from pg_constraint k
  cross join lateral unnest(k.conkey, k.confkey) with ordinality key (source, target, place)
  join pg_class sc on sc.oid = k.conrelid
  join pg_namespace sn on sn.oid = sc.relnamespace
  join pg_attribute sa on sa.attrelid = k.conrelid and sa.attnum = key.source
  join pg_class tc on tc.oid = k.confrelid
  join pg_namespace tn on tn.oid = tc.relnamespace
  join pg_attribute ta on ta.attrelid = k.confrelid and ta.attnum = key.target
  where k.contype = 'f'
    and ($2::oid[] is null or k.conrelid = any ($2) or k.confrelid = any ($2))
),
relationships as materialized (
  select relation, json_agg(pair order by conname, place) as pairs
  from (
    select conrelid as relation, conname, place, pair from foreign_keys
    union all
    select confrelid, conname, place, pair from foreign_keys where confrelid <> conrelid
  ) ends
  group by relation
)
select row_to_json(r)::text
from (
  select
    c.oid::int8 as id,
    c.nspname as schema,
    c.relname as name,
    c.relrowsecurity as rls_enabled,
    c.relforcerowsecurity as rls_forced,
    case c.relreplident
      when 'd' then 'DEFAULT' when 'i' then 'INDEX' when 'f' then 'FULL' else 'NOTHING'
    end as replica_identity,
    -- Filled in from `table_sizes.sql`, which waits for no lock.
    0 as bytes,
    '' as size,
    0 as live_rows_estimate,
    0 as dead_rows_estimate,
    obj_description(c.oid, 'pg_class') as comment,
    coalesce(p.columns, '[]') as primary_keys,
    coalesce(k.pairs, '[]') as relationships,
    pg_get_userbyid(c.relowner) as owner,
    c.relkind = 'p' as is_partitioned,
    case when c.relispartition then i.inhparent::int8 end as partition_of,
    x.extname as extension
  from wanted c
  left join primary_keys p on p.indrelid = c.oid
  left join relationships k on k.relation = c.oid
  left join pg_inherits i on c.relispartition and i.inhrelid = c.oid
  left join pg_depend d
    on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.objsubid = 0 and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  order by c.nspname, c.relname
) r
