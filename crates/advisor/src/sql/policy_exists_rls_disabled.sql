-- Tables whose policies have no effect.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Table %I.%I has policies (%s), but row level security is not enabled, so that they have no effect.',
              n.nspname, c.relname, string_agg(p.polname, ', ' order by p.polname)) as detail,
       format('alter table %I.%I enable row level security;', n.nspname, c.relname) as fix,
       jsonb_build_object('policies', jsonb_agg(p.polname order by p.polname)) as metadata,
       format('%s_%s', n.nspname, c.relname) as key
from pg_policy p
join pg_class c on c.oid = p.polrelid
join pg_namespace n on n.oid = c.relnamespace
where not c.relrowsecurity and n.nspname <> all ((select system_schemas from given)::text[])
group by n.nspname, c.relname
