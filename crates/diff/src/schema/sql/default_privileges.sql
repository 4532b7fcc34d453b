-- What objects to come start with, one row per right. A role without an entry of its own gets what PostgreSQL
-- gives, which are the rows without a role.
with kinds (kind) as (values ('r'::"char"), ('S'), ('f'), ('T'), ('n')),
me as (select oid from pg_roles where rolname = current_user),
defaults as (
    select d.defaclrole as role, n.nspname as schema, d.defaclobjtype as kind, d.defaclacl as acl
    from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace
    where d.defaclobjtype in ('r', 'S', 'f', 'T', 'n')
    union all
    select null, null, k.kind, acldefault((case k.kind when 'S' then 's' else k.kind end)::"char", me.oid)
    from kinds k cross join me
)
select pg_get_userbyid(d.role)::text as role, quote_ident(pg_get_userbyid(d.role)) as quoted_role,
       d.schema::text as schema, quote_ident(d.schema) as quoted_schema, d.kind::text as kind,
       coalesce((select rolsuper from pg_roles where oid = d.role), false) as is_superuser,
       e.grantee = coalesce(d.role, (select oid from me)) as is_owner,
       case when e.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(e.grantee)) end as grantee,
       lower(e.privilege_type) as privilege, e.is_grantable
from defaults d
left join lateral aclexplode(d.acl) e on true
order by 1, 3 nulls first, 5, 8, 9
