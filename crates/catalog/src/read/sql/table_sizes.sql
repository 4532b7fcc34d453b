-- $1: also system schemas; $2: only these ids. A table that another session has locked exclusively
-- has the size that the last ANALYZE saw: to measure it would wait for that session.
with sizes as materialized (
  select
    c.oid as id,
    case
      when l.relation is null then coalesce(pg_total_relation_size(c.oid), 0)
      else greatest(c.relpages, 0) * current_setting('block_size')::int8
    end as bytes,
    pg_stat_get_live_tuples(c.oid) as live,
    pg_stat_get_dead_tuples(c.oid) as dead
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join (
    select distinct relation
    from pg_locks
    where locktype = 'relation' and mode = 'AccessExclusiveLock' and pid <> pg_backend_pid()
  ) l on l.relation = c.oid
  where c.relkind in ('r', 'p')
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or c.oid = any ($2))
)
select id, bytes, pg_size_pretty(bytes) as size, live, dead
from sizes
