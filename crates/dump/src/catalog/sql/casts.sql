-- Casts.
select 'pg_cast'::regclass::oid as class, c.oid as object, i.identity as name, null::oid as relation,
       format('create cast %s %s%s;', i.identity,
              case c.castmethod when 'f' then format('with function %s', c.castfunc::regprocedure)
                   when 'i' then 'with inout' else 'without function' end,
              case c.castcontext when 'a' then ' as assignment' when 'i' then ' as implicit' end) as sql
from pg_cast c
cross join lateral pg_identify_object('pg_cast'::regclass, c.oid, 0) i
where c.oid >= 16384
  -- A range type brings along the cast to its multirange.
  and not exists (select from pg_depend d
                  where d.classid = 'pg_cast'::regclass and d.objid = c.oid and d.deptype = 'i')
