-- $1: table, $2: role. All policies, those that come first in the alphabet first.
select p.polname::text as name,
       case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
                     when 'd' then 'delete' else 'all' end as command,
       p.polpermissive as permissive,
       array(select case r.oid when 0 then 'public' else pg_catalog.pg_get_userbyid(r.oid)::text end
             from unnest(p.polroles) r(oid)) as roles,
       pg_catalog.pg_get_expr(p.polqual, p.polrelid) as using_text,
       pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as check_text,
       0 = any (p.polroles) or exists (
           select from unnest(p.polroles) r(oid)
           where r.oid <> 0 and pg_catalog.pg_has_role($2::name, r.oid, 'member')) as is_for_role
from pg_catalog.pg_policy p
where p.polrelid = $1
order by p.polname
