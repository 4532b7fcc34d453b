-- $1: exposed schemas. One row per column. A domain is shown as its base type only if that is a
-- built-in type; other types keep their name.
with recursive domain_steps as (
  select oid, typbasetype as base
  from pg_type
  where typtype = 'd'
  union all
  select s.oid, t.typbasetype
  from domain_steps s
  join pg_type t on t.oid = s.base
  where t.typtype = 'd'
),
domains as (
  select s.oid, s.base, b.typnamespace = 'pg_catalog'::regnamespace as is_builtin
  from domain_steps s
  join pg_type b on b.oid = s.base
  where b.typtype <> 'd'
),
relations as (
  select c.oid
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1)
    and c.relkind in ('r', 'v', 'm', 'f', 'p')
    and not c.relispartition
)
select
  a.attrelid as relation,
  a.attnum as position,
  a.attname as name,
  d.description as comment,
  not (a.attnotnull or t.typtype = 'd' and t.typnotnull) as is_nullable,
  case
    when base.is_builtin then format_type(base.base, null)
    when base.base is null and t.typnamespace = 'pg_catalog'::regnamespace
      then format_type(a.atttypid, null)
    else format_type(a.atttypid, a.atttypmod)
  end as base_type,
  format_type(a.atttypid, a.atttypmod) as nominal_type,
  case
    when length.modifier = -1 then null
    when length.type in ('bpchar'::regtype, 'varchar'::regtype) then length.modifier - 4
    when length.type in ('bit'::regtype, 'varbit'::regtype) then length.modifier
  end as max_length,
  case
    when a.attgenerated <> '' then null
    when def.adbin is not null then pg_get_expr(def.adbin, def.adrelid)
    when a.attidentity = 'd' then (
      select format('nextval(%L)', sequence.objid::regclass)
      from pg_depend sequence
      where sequence.classid = 'pg_class'::regclass
        and sequence.refclassid = 'pg_class'::regclass
        and sequence.refobjid = a.attrelid
        and sequence.refobjsubid = a.attnum
        and sequence.deptype = 'i'
      limit 1
    )
    when t.typtype = 'd' then pg_get_expr(t.typdefaultbin, 0)
  end as "default",
  coalesce(base.base, t.oid) as base_type_oid
from relations r
join pg_attribute a on a.attrelid = r.oid
join pg_type t on t.oid = a.atttypid
left join domains base on base.oid = t.oid
left join pg_attrdef def on def.adrelid = a.attrelid and def.adnum = a.attnum
left join pg_description d
  on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
cross join lateral (
  select
    case when t.typtype = 'd' then t.typbasetype else a.atttypid end as type,
    case when t.typtype = 'd' then t.typtypmod else a.atttypmod end as modifier
) length
where a.attnum > 0
  and not a.attisdropped
order by a.attrelid, a.attnum
