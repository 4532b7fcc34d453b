-- Tables that are read from beginning to end, again and again. Which index helps depends on the queries.
select s.schemaname::text as schema, s.relname::text as name, 'table' as type,
       format('Table %I.%I was read from beginning to end %s times, %s rows in all, and by an index %s times.',
              s.schemaname, s.relname, s.seq_scan, s.seq_tup_read, coalesce(s.idx_scan, 0)) as detail,
       null::text as fix,
       jsonb_build_object('scans', s.seq_scan, 'rows_read', s.seq_tup_read, 'index_scans', coalesce(s.idx_scan, 0)) as metadata,
       format('%s_%s', s.schemaname, s.relname) as key
from pg_stat_user_tables s
cross join given
where s.seq_tup_read >= (given.limits ->> 'scanned_rows')::bigint
  and s.seq_scan > coalesce(s.idx_scan, 0) and s.seq_tup_read / greatest(s.seq_scan, 1) > 1000
  and s.schemaname <> all (given.system_schemas)
