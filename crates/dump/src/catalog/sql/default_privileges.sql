-- What objects to come start with. Schemas add to the rights of the whole database.
with defaults as (
    select d.oid, d.defaclrole, n.nspname, d.defaclacl as actual, d.defaclobjtype,
           case when d.defaclnamespace = 0
                then acldefault((case d.defaclobjtype when 'S' then 's' else d.defaclobjtype end)::"char", d.defaclrole)
                else acldefault('c', d.defaclrole) end as first
    from pg_default_acl d
    left join pg_namespace n on n.oid = d.defaclnamespace
),
entries as (
    select d.*, x.is_grant, x.at, e.grantee, e.is_grantable, e.privilege_type
    from defaults d
    cross join lateral (
        select true as is_grant, item, at from unnest(d.actual) with ordinality u (item, at)
        union all
        select false, item, at from unnest(d.first) with ordinality u (item, at)) x
    cross join lateral aclexplode(array[x.item]) e
    where not exists (
        select from aclexplode(case when x.is_grant then d.first else d.actual end) o
        where (o.grantee, o.privilege_type, o.is_grantable) = (e.grantee, e.privilege_type, e.is_grantable))
),
statements as (
    select oid, defaclrole, nspname, defaclobjtype, is_grant, at,
           format('alter default privileges for role %I%s %s %s on %s %s %s%s;',
                  pg_get_userbyid(defaclrole),
                  case when nspname is not null then format(' in schema %I', nspname) end,
                  case when is_grant then 'grant' else 'revoke' end,
                  string_agg(lower(privilege_type), ', ' order by privilege_type),
                  case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'routines'
                       when 'T' then 'types' when 'n' then 'schemas' when 'L' then 'large objects' end,
                  case when is_grant then 'to' else 'from' end,
                  case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
                  case when is_grant and is_grantable then ' with grant option' end) as sql
    from entries
    group by oid, defaclrole, nspname, defaclobjtype, is_grant, at, grantee, is_grantable
)
select 'pg_default_acl'::regclass::oid as class, oid as object,
       format('%s %s %s', pg_get_userbyid(defaclrole), nspname, defaclobjtype) as name, null::oid as relation,
       string_agg(sql, E'\n' order by is_grant, at) as sql
from statements
group by oid, defaclrole, nspname, defaclobjtype
