-- Extensions whose functions the API serves.
select 'public' as schema, x.extname::text as name, 'extension' as type,
       format('Extension %I is in schema public, where the API serves its functions.', x.extname) as detail,
       -- Only who owns its objects can move it: those of a trusted extension belong to the superuser.
       case when x.extrelocatable
             and not exists (select from pg_depend d
                             join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
                             where d.refclassid = 'pg_extension'::regclass and d.refobjid = x.oid and d.deptype = 'e'
                               and not pg_has_role(p.proowner, 'usage'))
            then format('alter extension %I set schema extensions;', x.extname) end as fix,
       jsonb_build_object('version', x.extversion) as metadata, x.extname::text as key
from pg_extension x
where x.extnamespace = 'public'::regnamespace
