-- Columns whose values name objects of this server: an upgrade of PostgreSQL cannot carry them.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Column %I of table %I.%I has the type %s, which an upgrade of PostgreSQL cannot carry.',
              a.attname, n.nspname, c.relname, format_type(a.atttypid, null)) as detail,
       format('alter table %I.%I alter column %I type text using %I::text;', n.nspname, c.relname, a.attname, a.attname) as fix,
       jsonb_build_object('column', a.attname) as metadata,
       format('%s_%s_%s', n.nspname, c.relname, a.attname) as key
from pg_attribute a
join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')
join pg_namespace n on n.oid = c.relnamespace
where not a.attisdropped and n.nspname <> all ((select system_schemas from given)::text[])
  and a.atttypid in ('regcollation'::regtype, 'regconfig'::regtype, 'regdictionary'::regtype, 'regnamespace'::regtype,
                     'regoper'::regtype, 'regoperator'::regtype, 'regproc'::regtype, 'regprocedure'::regtype)
