-- Tables that API roles may empty: row level security does not apply to TRUNCATE.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('%s may empty table %I.%I with TRUNCATE, to which no policy applies.',
              string_agg(initcap(r.rolname), ' and ' order by r.rolname), n.nspname, c.relname) as detail,
       format('revoke truncate on table %I.%I from public, anon, authenticated;', n.nspname, c.relname) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_roles r on r.rolname in ('anon', 'authenticated') and has_table_privilege(r.oid, c.oid, 'truncate')
where c.relkind in ('r', 'p') and n.nspname = any ((select exposed from given)::text[])
group by n.nspname, c.relname
