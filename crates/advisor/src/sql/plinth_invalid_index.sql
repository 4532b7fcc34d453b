-- Indexes that a failed CREATE INDEX CONCURRENTLY left over: written, never read.
select n.nspname::text as schema, i.relname::text as name, 'index' as type,
       format('Index %I of table %I.%I is not valid: it is kept up to date, but no query uses it.', i.relname, n.nspname, c.relname) as detail,
       format('reindex index %I.%I;', n.nspname, i.relname) as fix,
       jsonb_build_object('table', c.relname) as metadata, format('%s_%s', n.nspname, i.relname) as key
from pg_index x
join pg_class i on i.oid = x.indexrelid and i.relkind = 'i'
join pg_class c on c.oid = x.indrelid
join pg_namespace n on n.oid = c.relnamespace
where not x.indisvalid and n.nspname <> all ((select system_schemas from given)::text[])
  -- One that is being built has a session that builds it.
  and not exists (select from pg_stat_progress_create_index b where b.index_relid = x.indexrelid)
