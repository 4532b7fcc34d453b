-- Indexes that are the same but for their names. The one that a constraint needs stays.
, indexes as (
    select x.indexrelid, x.indrelid, n.nspname, c.relname, i.relname as name,
           regexp_replace(pg_get_indexdef(x.indexrelid), '^CREATE (UNIQUE )?INDEX ("([^"]|"")*"|\S+) ', '') as definition,
           x.indisunique,
           row_number() over (
               partition by x.indrelid,
                   regexp_replace(pg_get_indexdef(x.indexrelid), '^CREATE (UNIQUE )?INDEX ("([^"]|"")*"|\S+) ', '')
               order by exists (select from pg_constraint k where k.conindid = x.indexrelid) desc,
                   x.indisreplident desc, x.indisunique desc, i.relname) as place
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    join pg_class c on c.oid = x.indrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname <> all ((select system_schemas from given)::text[])
      and n.nspname not like 'pg\_toast%' and not c.relispartition
)
select d.nspname::text as schema, d.relname::text as name, 'table' as type,
       format('Table %I.%I has the same index twice: %I and %I.', d.nspname, d.relname, kept.name, d.name) as detail,
       format('drop index %I.%I;', d.nspname, d.name) as fix,
       jsonb_build_object('indexes', jsonb_build_array(kept.name, d.name)) as metadata,
       format('%s_%s_%s', d.nspname, d.relname, d.name) as key
from indexes d
join indexes kept on kept.indrelid = d.indrelid and kept.definition = d.definition and kept.place = 1
where d.place > 1 and (kept.indisunique or not d.indisunique)
  and not exists (select from pg_constraint k where k.conindid = d.indexrelid)
