-- Policies that trust what users write about themselves.
select n.nspname::text as schema, p.polname::text as name, 'policy' as type,
       format('Policy %I of table %I.%I looks at user metadata, which users change themselves.', p.polname, n.nspname, c.relname) as detail,
       null::text as fix,
       jsonb_build_object('table', c.relname, 'policy', jsonb_build_object(
           'target', format('%I on %I.%I', p.polname, n.nspname, c.relname),
           'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid))) as metadata,
       format('%s_%s_%s', n.nspname, c.relname, p.polname) as key
from pg_policy p
join pg_class c on c.oid = p.polrelid
join pg_namespace n on n.oid = c.relnamespace
where concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) ~ '(user_metadata|raw_user_meta_data)'
