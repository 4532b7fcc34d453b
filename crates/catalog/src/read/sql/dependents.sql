-- $1: the catalog of an object; $2: its oid; $3: the number of a column, or 0. What goes with it, as
-- DROP finds it: objects that depend on it, on those, and so on.
with recursive reached (classid, objid, objsubid, needs_cascade) as (
  select $1::oid, $2::oid, $3::int4, false
  union
  select next.classid, next.objid, next.objsubid, r.needs_cascade or next.is_normal
  from reached r
  cross join lateral (
    select d.classid, d.objid, d.objsubid, d.deptype = 'n' as is_normal
    from pg_depend d
    where d.refclassid = r.classid and d.refobjid = r.objid
      and (r.objsubid = 0 or d.refobjsubid = r.objsubid)
      and d.deptype in ('n', 'a', 'i', 'P', 'S', 'e')
    union all
    -- A part goes with its whole: the rule of a view with the view.
    select d.refclassid, d.refobjid, d.refobjsubid, false
    from pg_depend d
    where d.classid = r.classid and d.objid = r.objid and d.deptype = 'i'
      and (r.classid, r.objid) <> ($1::oid, $2::oid)
  ) next
),
objects as (
  select classid, objid, objsubid, bool_or(needs_cascade) as needs_cascade
  from reached
  where (classid, objid) <> ($1::oid, $2::oid) or $3 = 0 and objsubid <> 0
  group by classid, objid, objsubid
),
shown as (
  select o.*
  from objects o
  left join pg_type t on o.classid = 'pg_type'::regclass and t.oid = o.objid
  left join pg_class tr on tr.oid = t.typrelid
  left join pg_trigger g on o.classid = 'pg_trigger'::regclass and g.oid = o.objid
  left join pg_class c on o.classid = 'pg_class'::regclass and c.oid = o.objid
  where o.classid <> 'pg_rewrite'::regclass
    and (o.needs_cascade or o.classid <> 'pg_attrdef'::regclass)
    and g.tgisinternal is not true
    and c.relkind is distinct from 't'
    -- The row type of a relation, and arrays.
    and (t.oid is null or (tr.oid is null or tr.relkind = 'c') and t.typelem = 0)
    -- What an extension consists of.
    and not exists (
      select from pg_depend d
      where d.classid = o.classid and d.objid = o.objid and d.deptype = 'e'
    )
    -- A column of something that goes as a whole.
    and not (
      o.objsubid <> 0
      and exists (
        select from objects whole
        where whole.classid = o.classid and whole.objid = o.objid and whole.objsubid = 0
      )
    )
)
select row_to_json(r)::text
from (
  select
    i.type as kind,
    i.schema,
    i.name,
    i.identity,
    s.needs_cascade,
    case when c.relkind in ('r', 'p', 'm') then greatest(c.reltuples, 0)::int8 end as rows_estimate,
    count(*) over () as total
  from shown s
  cross join lateral pg_identify_object(s.classid, s.objid, s.objsubid) i
  left join pg_class c on s.classid = 'pg_class'::regclass and s.objsubid = 0 and c.oid = s.objid
  order by s.needs_cascade desc, i.type, i.identity
  limit 1000
) r
