-- $1: classes, $2: objects; names and owner of each. The bootstrap superuser's ownership is not recorded.
select p.names, a.object_args as arguments,
       (select array_agg(quote_ident(part) order by position)
        from unnest(p.names) with ordinality n (part, position)) as quoted,
       quote_ident(pg_get_userbyid(coalesce(s.refobjid, 10))) as owner
from unnest($1::oid[], $2::oid[]) with ordinality as u (class, object, at)
cross join lateral pg_identify_object_as_address(u.class, u.object, 0) a
-- Of types, and of constraints of domains, it gives the whole name as one part.
cross join lateral (
    select coalesce((select array[n.nspname::text, t.typname::text]
                     from pg_type t join pg_namespace n on n.oid = t.typnamespace
                     where u.class = 'pg_type'::regclass and t.oid = u.object),
                    (select array[n.nspname::text, t.typname::text, k.conname::text]
                     from pg_constraint k join pg_type t on t.oid = k.contypid
                     join pg_namespace n on n.oid = t.typnamespace
                     where u.class = 'pg_constraint'::regclass and k.oid = u.object),
                    a.object_names) as names) p
left join pg_shdepend s
    on s.dbid = (select oid from pg_database where datname = current_database())
   and s.classid = u.class and s.objid = u.object and s.objsubid = 0 and s.deptype = 'o'
order by u.at
