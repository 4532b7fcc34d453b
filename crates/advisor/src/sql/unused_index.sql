-- Indexes that no query has used since statistics began, on tables that were used.
select n.nspname::text as schema, i.relname::text as name, 'index' as type,
       format('Index %I of table %I.%I (%s) has never been used.', i.relname, n.nspname, c.relname,
              pg_size_pretty(pg_relation_size(i.oid))) as detail,
       format('drop index %I.%I;', n.nspname, i.relname) as fix,
       jsonb_build_object('table', c.relname, 'bytes', pg_relation_size(i.oid)) as metadata,
       format('%s_%s', n.nspname, i.relname) as key
from pg_stat_user_indexes s
join pg_stat_user_tables t on t.relid = s.relid
join pg_index x on x.indexrelid = s.indexrelid
join pg_class i on i.oid = s.indexrelid
join pg_class c on c.oid = s.relid
join pg_namespace n on n.oid = c.relnamespace
cross join given
where s.idx_scan = 0 and not x.indisunique and x.indisvalid and not x.indisreplident
  and i.relpages >= (given.limits ->> 'unused_index_pages')::bigint
  and coalesce(t.seq_scan, 0) + coalesce(t.idx_scan, 0) > 0
  and n.nspname <> all (given.system_schemas)
  and not exists (select from pg_constraint k where k.conindid = i.oid)
  and not exists (select from pg_inherits h where h.inhrelid = i.oid)
