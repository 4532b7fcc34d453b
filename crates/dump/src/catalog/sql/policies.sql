-- Policies of row level security.
select 'pg_policy'::regclass::oid as class, p.oid as object,
       format('%I.%I %I', n.nspname, c.relname, p.polname) as name, c.oid as relation,
       format('create policy %I on %I.%I%s for %s to %s%s%s;', p.polname, n.nspname, c.relname,
              case when not p.polpermissive then ' as restrictive' end,
              case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
                   when 'd' then 'delete' else 'all' end,
              case when p.polroles = '{0}' then 'public'
                   else (select string_agg(quote_ident(pg_get_userbyid(r.role)), ', ' order by r.at)
                         from unnest(p.polroles) with ordinality r (role, at)) end,
              ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')',
              ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')') as sql
from pg_policy p
join pg_class c on c.oid = p.polrelid
join pg_namespace n on n.oid = c.relnamespace
where p.oid >= 16384
