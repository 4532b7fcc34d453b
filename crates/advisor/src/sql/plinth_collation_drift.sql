-- Collations that sort otherwise than when indexes were built: an update of the operating system did that.
select n.nspname::text as schema, c.collname::text as name, 'collation' as type,
       format('Collation %I.%I has the version %s, but its indexes were built with %s: they may miss rows.', n.nspname, c.collname,
              pg_collation_actual_version(c.oid), c.collversion) as detail,
       concat(
           (select string_agg(distinct format(E'reindex index %I.%I;\n', xn.nspname, i.relname), '')
            from pg_index x
            join pg_class i on i.oid = x.indexrelid
            join pg_namespace xn on xn.oid = i.relnamespace
            where c.oid = any (x.indcollation::oid[])),
           format('alter collation %I.%I refresh version;', n.nspname, c.collname)) as fix,
       jsonb_build_object('version', c.collversion) as metadata, format('%s_%s', n.nspname, c.collname) as key
from pg_collation c
join pg_namespace n on n.oid = c.collnamespace
where c.oid >= 16384 and c.collversion <> pg_collation_actual_version(c.oid)
union all
select null, d.datname::text, 'database',
       format('The database''s collation has the version %s, but indexes were built with %s: they may miss rows.',
              pg_database_collation_actual_version(d.oid), d.datcollversion),
       format(E'reindex database %I;\nalter database %I refresh collation version;', d.datname, d.datname),
       jsonb_build_object('version', d.datcollversion), d.datname::text
from pg_database d
where d.datname = current_database() and d.datcollversion <> pg_database_collation_actual_version(d.oid)
