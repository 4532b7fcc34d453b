-- Keys of all schemas but the system's, because a view may use tables of any schema. Foreign keys
-- that partitions inherit are left out.
select
  k.contype::text as kind,
  k.conname as name,
  k.conrelid as relation,
  n.nspname as schema,
  c.relname as relation_name,
  k.conkey as key,
  (
    select array_agg(a.attname::text order by pair.place)
    from unnest(k.conkey) with ordinality as pair(position, place)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.position
  ) as columns,
  k.confrelid as foreign_relation,
  foreign_n.nspname as foreign_schema,
  foreign_c.relname as foreign_relation_name,
  k.confkey as foreign_key,
  (
    select array_agg(a.attname::text order by pair.place)
    from unnest(k.confkey) with ordinality as pair(position, place)
    join pg_attribute a on a.attrelid = k.confrelid and a.attnum = pair.position
  ) as foreign_columns
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
left join pg_class foreign_c on foreign_c.oid = k.confrelid
left join pg_namespace foreign_n on foreign_n.oid = foreign_c.relnamespace
where (k.contype in ('p', 'u') or k.contype = 'f' and k.conparentid = 0)
  and k.connamespace <> 'pg_catalog'::regnamespace
order by k.conrelid, k.conname
