-- Functions and procedures, as the server itself writes them.
select 'pg_proc'::regclass::oid as class, p.oid as object, i.identity as name, null::oid as relation,
       format('%s;
alter routine %s owner to %I;',
              rtrim(pg_get_functiondef(p.oid), E'\n'), i.identity, pg_get_userbyid(p.proowner)) as sql
from pg_proc p
cross join lateral pg_identify_object('pg_proc'::regclass, p.oid, 0) i
where p.oid >= 16384 and p.prokind <> 'a'
  and not exists (select from pg_depend d
                  where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'i')
