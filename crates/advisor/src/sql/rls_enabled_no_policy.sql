-- Tables that nobody can read through the API.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Table %I.%I has row level security, but no policy: nobody but the service role can use it.',
              n.nspname, c.relname) as detail,
       format('create policy "Nobody" on %I.%I for all to anon, authenticated using (false);', n.nspname, c.relname) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relrowsecurity
  and n.nspname <> all ((select system_schemas from given)::text[])
  and not exists (select from pg_policy p where p.polrelid = c.oid)
  and not exists (select from pg_depend e
                  where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
