-- Views that show auth.users to those who may not read it.
, views as (
    select distinct r.ev_class as oid
    from pg_depend d
    join pg_rewrite r on r.oid = d.objid
    where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
      and d.refobjid = to_regclass('auth.users')
)
select n.nspname::text as schema, c.relname::text as name,
       case c.relkind when 'v' then 'view' else 'materialized view' end as type,
       format('%I.%I reads auth.users and is open to %s.', n.nspname, c.relname, string_agg(r.rolname, ' and ' order by r.rolname)) as detail,
       format('revoke all on table %I.%I from public, anon, authenticated;', n.nspname, c.relname) as fix,
       jsonb_build_object('roles', jsonb_agg(r.rolname order by r.rolname)) as metadata,
       format('%s_%s', n.nspname, c.relname) as key
from views
join pg_class c on c.oid = views.oid
join pg_namespace n on n.oid = c.relnamespace
join pg_roles r on r.rolname in ('anon', 'authenticated') and has_any_column_privilege(r.oid, c.oid, 'select')
where n.nspname = any ((select exposed from given)::text[])
  -- As its caller, it shows no more than the caller may read anyway.
  and not coalesce((select o.option_value::boolean from pg_options_to_table(c.reloptions) o
                    where o.option_name = 'security_invoker'), false)
group by n.nspname, c.relname, c.relkind
