-- Several permissive policies for one role and command: each runs for every row.
, policies as (
    select p.oid, p.polrelid, p.polname, p.polcmd, p.polroles, n.nspname, c.relname,
           pg_get_expr(p.polqual, p.polrelid) as using_text, pg_get_expr(p.polwithcheck, p.polrelid) as check_text
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    join pg_namespace n on n.oid = c.relnamespace
    where p.polpermissive and n.nspname <> all ((select system_schemas from given)::text[])
),
applied as (
    select p.polrelid, p.nspname, p.relname, r.rolname, command.letter,
           count(*) as number, count(distinct (p.polcmd, p.polroles)) as forms, array_agg(p.oid order by p.polname) as ids,
           string_agg(quote_ident(p.polname), ', ' order by p.polname) as names
    from policies p
    join pg_roles r on r.rolname in ('anon', 'authenticated') and (0 = any (p.polroles) or r.oid = any (p.polroles))
    join (values ('r'::"char"), ('a'), ('w'), ('d')) command (letter) on p.polcmd in ('*', command.letter)
    group by p.polrelid, p.nspname, p.relname, r.rolname, command.letter
    having count(*) > 1
),
sets as (
    select polrelid, nspname, relname, ids, names, forms,
           string_agg(distinct rolname, ', ') as roles,
           string_agg(distinct case letter when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end, ', ') as commands
    from applied
    group by polrelid, nspname, relname, ids, names, forms
)
select s.nspname::text as schema, s.relname::text as name, 'table' as type,
       format('Table %I.%I has several permissive policies for %s of %s: %s. All of them run for every row.',
              s.nspname, s.relname, s.commands, s.roles, s.names) as detail,
       case when s.forms = 1 then
            (select string_agg(format('drop policy %I on %I.%I;', p.polname, p.nspname, p.relname), E'\n' order by p.polname)
                    || format(E'\ncreate policy %I on %I.%I for %s to %s%s%s;', min(p.polname), s.nspname, s.relname,
                              case min(p.polcmd::text) when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
                                   when 'd' then 'delete' else 'all' end,
                              (select string_agg(case when u.role = 0 then 'public' else quote_ident(pg_get_userbyid(u.role)) end, ', ')
                               from policies one cross join lateral unnest(one.polroles) u (role) where one.oid = s.ids[1]),
                              ' using (' || string_agg(p.using_text, ' or ' order by p.polname) || ')',
                              case when bool_or(p.check_text is not null)
                                   then ' with check (' || string_agg(coalesce(p.check_text, p.using_text, 'true'), ' or ' order by p.polname) || ')' end)
             from policies p where p.oid = any (s.ids)) end as fix,
       jsonb_build_object('roles', s.roles, 'commands', s.commands, 'policies', s.names) as metadata,
       format('%s_%s_%s_%s', s.nspname, s.relname, s.roles, s.commands) as key
from sets s
