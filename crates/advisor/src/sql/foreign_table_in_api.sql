-- Foreign tables that the API serves: no policy can apply to them.
select n.nspname::text as schema, c.relname::text as name, 'foreign table' as type,
       format('Foreign table %I.%I is open to %s, and no policy applies to it.', n.nspname, c.relname,
              string_agg(r.rolname, ' and ' order by r.rolname)) as detail,
       format('revoke all on table %I.%I from public, anon, authenticated;', n.nspname, c.relname) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_roles r on r.rolname in ('anon', 'authenticated') and has_any_column_privilege(r.oid, c.oid, 'select')
where c.relkind = 'f' and n.nspname = any ((select exposed from given)::text[])
group by n.nspname, c.relname
