-- Tables that the API serves, on which an API role has rights, without row level security.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Table %I.%I is served by the API, but row level security is not enabled.', n.nspname, c.relname) as detail,
       format('alter table %I.%I enable row level security;', n.nspname, c.relname) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and not c.relrowsecurity
  and n.nspname = any ((select exposed from given)::text[])
  and exists (select from pg_roles r
              where r.rolname in ('anon', 'authenticated') and has_schema_privilege(r.oid, n.oid, 'usage')
                and (has_any_column_privilege(r.oid, c.oid, 'select, insert, update')
                     or has_table_privilege(r.oid, c.oid, 'delete')))
  and not exists (select from pg_depend e
                  where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
