-- Functions whose names mean what the caller's search path says.
select n.nspname::text as schema, p.proname::text as name, 'function' as type,
       format('Function %s has no search path of its own, so that a caller can make its names mean something else.', i.identity) as detail,
       format('alter routine %s set search_path = %I, extensions, pg_temp;', i.identity, n.nspname) as fix,
       jsonb_build_object('arguments', pg_get_function_identity_arguments(p.oid)) as metadata,
       format('%s_%s', n.nspname, i.identity) as key
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
join pg_language l on l.oid = p.prolang
cross join lateral pg_identify_object('pg_proc'::regclass, p.oid, 0) i
where n.nspname <> all ((select system_schemas from given)::text[])
  and p.prokind <> 'a' and p.prosqlbody is null and l.lanname not in ('c', 'internal')
  and not exists (select from unnest(p.proconfig) setting where setting like 'search\_path=%')
  and not exists (select from pg_depend e
                  where e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e')
