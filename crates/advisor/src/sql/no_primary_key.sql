-- Tables whose rows cannot be told apart.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Table %I.%I has no primary key.', n.nspname, c.relname) as detail,
       format('alter table %I.%I add column %I bigint generated always as identity primary key;', n.nspname, c.relname,
              (select candidate from unnest(array['id', 'row_id', 'primary_id', 'generated_primary_id']) with ordinality u (candidate, at)
               where not exists (select from pg_attribute a
                                 where a.attrelid = c.oid and a.attname = candidate and not a.attisdropped)
               order by at limit 1)) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and not c.relispartition
  and n.nspname <> all ((select system_schemas from given)::text[])
  and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')
  and not exists (select from pg_depend e
                  where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
