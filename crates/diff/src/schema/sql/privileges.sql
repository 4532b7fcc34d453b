-- Who may do what, one row per right; an object on which nobody has any right has one without a grantee.
-- Parts of objects (sequences of identity columns, functions of range types) come and go with them.
with objects as (
    select 'pg_class'::regclass::oid as class, c.oid as object, c.relacl as acl, c.relowner as owner,
           (case when c.relkind = 'S' then 's' else 'r' end)::"char" as kind,
           case when c.relkind = 'S' then 'sequence ' else 'table ' end || format('%I.%I', n.nspname, c.relname) as what,
           null::text as column_name, n.nspname::text as schema
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relpersistence <> 't'
    union all
    select 'pg_class'::regclass, c.oid, a.attacl, c.relowner, 'c',
           'table ' || format('%I.%I', n.nspname, c.relname), quote_ident(a.attname), n.nspname
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where c.oid >= 16384 and a.attacl is not null and not a.attisdropped and c.relpersistence <> 't'
    union all
    select 'pg_proc'::regclass, p.oid, p.proacl, p.proowner, 'f', null, null, n.nspname
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.oid >= 16384
    union all
    select 'pg_type'::regclass, t.oid, t.typacl, t.typowner, 'T', 'type ' || format_type(t.oid, null), null, n.nspname
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    left join pg_class c on c.oid = t.typrelid
    where t.oid >= 16384 and t.typtype in ('e', 'c', 'd', 'r') and coalesce(c.relkind, 'c') = 'c'
    union all
    select 'pg_namespace'::regclass, n.oid, n.nspacl, n.nspowner, 'n', 'schema ' || quote_ident(n.nspname), null, n.nspname
    from pg_namespace n where n.oid >= 16384 or n.nspname = 'public'
)
select o.class, o.object, o.kind::text as kind, o.schema, o.column_name,
       coalesce(o.what, (select 'routine ' || i.identity from pg_identify_object(o.class, o.object, 0) i)) as what,
       pg_get_userbyid(o.owner)::text as owner,
       pg_get_userbyid(e.grantor)::text as grantor, quote_ident(pg_get_userbyid(e.grantor)) as quoted_grantor,
       case when e.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(e.grantee)) end as grantee,
       pg_get_userbyid(e.grantee)::text as grantee_name,
       lower(e.privilege_type) as privilege, e.is_grantable
from objects o
left join lateral aclexplode(coalesce(o.acl, acldefault(o.kind, o.owner))) e on true
where not exists (select from pg_depend d
                  where d.classid = o.class and d.objid = o.object and d.deptype in ('e', 'i'))
order by o.schema, what, o.column_name nulls first, e.grantee, privilege
