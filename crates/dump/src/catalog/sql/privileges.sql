-- Who may do what: the difference between what an object starts with and what it has.
with objects as (
    select 'pg_class'::regclass::oid as class, c.oid as object, 0 as sub, c.relacl as acl, c.relowner as owner,
           (case when c.relkind = 'S' then 's' else 'r' end)::"char" as kind,
           case when c.relkind = 'S' then 'sequence ' else 'table ' end || format('%I.%I', n.nspname, c.relname) as what,
           null::text as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relpersistence <> 't' and n.nspname <> 'pg_toast'
    union all
    select 'pg_class'::regclass, c.oid, a.attnum, a.attacl, c.relowner, 'c',
           'table ' || format('%I.%I', n.nspname, c.relname), format('(%I)', a.attname)
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where a.attacl is not null and not a.attisdropped and c.relpersistence <> 't'
    union all
    select 'pg_proc'::regclass, p.oid, 0, p.proacl, p.proowner, 'f', null, null
    from pg_proc p
    union all
    select 'pg_type'::regclass, t.oid, 0, t.typacl, t.typowner, 'T', 'type ' || format_type(t.oid, null), null
    from pg_type t where t.typacl is not null
    union all
    select 'pg_namespace'::regclass, n.oid, 0, n.nspacl, n.nspowner, 'n', 'schema ' || quote_ident(n.nspname), null
    from pg_namespace n where n.nspname !~ '^pg_(temp|toast)'
    union all
    select 'pg_language'::regclass, l.oid, 0, l.lanacl, l.lanowner, 'l', 'language ' || quote_ident(l.lanname), null
    from pg_language l
    union all
    select 'pg_foreign_data_wrapper'::regclass, w.oid, 0, w.fdwacl, w.fdwowner, 'F', 'foreign data wrapper ' || quote_ident(w.fdwname), null
    from pg_foreign_data_wrapper w
    union all
    select 'pg_foreign_server'::regclass, s.oid, 0, s.srvacl, s.srvowner, 'S', 'foreign server ' || quote_ident(s.srvname), null
    from pg_foreign_server s
    union all
    select 'pg_largeobject'::regclass, m.oid, 0, m.lomacl, m.lomowner, 'L', 'large object ' || m.oid, null
    from pg_largeobject_metadata m
),
both_sides as (
    select o.class, o.object, o.sub, o.owner, o.columns, o.what,
           coalesce(o.acl, acldefault(o.kind, o.owner)) as actual,
           -- The schema public is made anew and starts like any other.
           coalesce(case when o.object <> 2200 or o.class <> 'pg_namespace'::regclass then i.initprivs end,
                    acldefault(o.kind, o.owner)) as first
    from objects o
    left join pg_init_privs i on i.classoid = o.class and i.objoid = o.object and i.objsubid = o.sub
),
changed as (
    select b.class, b.object, b.sub, b.owner, b.columns, b.actual, b.first,
           coalesce(b.what, (select 'routine ' || i.identity from pg_identify_object(b.class, b.object, 0) i)) as what
    from both_sides b
    where b.actual is distinct from b.first
),
entries as (
    select c.class, c.object, c.sub, c.owner, c.what, c.columns, x.is_grant, x.at, e.grantor, e.grantee,
           e.is_grantable, e.privilege_type
    from changed c
    cross join lateral (
        select true as is_grant, item, at from unnest(c.actual) with ordinality u (item, at)
        union all
        select false, item, at from unnest(c.first) with ordinality u (item, at)) x
    cross join lateral aclexplode(array[x.item]) e
    where not exists (
        select from aclexplode(case when x.is_grant then c.first else c.actual end) o
        where (o.grantor, o.grantee, o.privilege_type, o.is_grantable)
            = (e.grantor, e.grantee, e.privilege_type, e.is_grantable))
),
statements as (
    select class, object, sub, what, columns, is_grant, at, grantor, owner,
           format('%s %s on %s %s %s%s;',
                  case when is_grant then 'grant' else 'revoke' end,
                  string_agg(lower(privilege_type) || coalesce(' ' || columns, ''), ', ' order by privilege_type),
                  what,
                  case when is_grant then 'to' else 'from' end,
                  case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
                  case when is_grant and is_grantable then ' with grant option' end) as sql
    from entries
    group by class, object, sub, what, columns, is_grant, at, grantor, owner, grantee, is_grantable
)
-- A role that passes a privilege on needs USAGE on the schema first, hence the order by name.
select class, object,
       case when class = 'pg_namespace'::regclass then 'all of ' else '' end || what
           || coalesce(' ' || columns, '') as name,
       null::oid as relation,
       string_agg(case when grantor = owner then sql
                       else format('set role %I; %s reset role;', pg_get_userbyid(grantor), sql) end,
                  E'\n' order by is_grant, grantor <> owner, at) as sql
from statements
group by class, object, sub, what, columns
