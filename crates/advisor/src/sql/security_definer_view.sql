-- Views that the API serves and that read as their owners.
select n.nspname::text as schema, c.relname::text as name, 'view' as type,
       format('View %I.%I reads with the rights of its owner %I, so that the policies of its tables do not apply to those who ask.',
              n.nspname, c.relname, pg_get_userbyid(c.relowner)) as detail,
       format('alter view %I.%I set (security_invoker = true);', n.nspname, c.relname) as fix,
       null::jsonb as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'v' and n.nspname = any ((select exposed from given)::text[])
  and not coalesce((select o.option_value::boolean from pg_options_to_table(c.reloptions) o
                    where o.option_name = 'security_invoker'), false)
  and exists (select from pg_roles r
              where r.rolname in ('anon', 'authenticated')
                and has_any_column_privilege(r.oid, c.oid, 'select'))
  and not exists (select from pg_depend e
                  where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
