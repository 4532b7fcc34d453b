-- Operators and functions that belong to a family, but to none of its classes.
with loose as (
    select ao.amopfamily as family, 'pg_amop'::regclass as class, ao.oid as object,
           format('operator %s %s%s', ao.amopstrategy, ao.amopopr::regoperator,
                  case when ao.amopsortfamily <> 0 then
                       (select format(' for order by %I.%I', sn.nspname, s.opfname)
                        from pg_opfamily s join pg_namespace sn on sn.oid = s.opfnamespace
                        where s.oid = ao.amopsortfamily) end) as part
    from pg_amop ao
    where ao.oid >= 16384
    union all
    select ap.amprocfamily, 'pg_amproc'::regclass, ap.oid,
           format('function %s (%s, %s) %s', ap.amprocnum, format_type(ap.amproclefttype, null),
                  format_type(ap.amprocrighttype, null), ap.amproc::regprocedure)
    from pg_amproc ap
    where ap.oid >= 16384
)
select l.class::oid as class, l.object, l.part as name, null::oid as relation,
       format('alter operator family %I.%I using %I add %s;', n.nspname, f.opfname, m.amname, l.part)
           as sql
from loose l
join pg_opfamily f on f.oid = l.family
join pg_namespace n on n.oid = f.opfnamespace
join pg_am m on m.oid = f.opfmethod
where not exists (select from pg_depend d
                  where d.classid = l.class and d.objid = l.object
                    and d.refclassid = 'pg_opclass'::regclass)
  -- What an extension adds to its own families comes with it.
  and not exists (select from pg_depend d
                  where d.classid = 'pg_opfamily'::regclass and d.objid = l.family
                    and d.deptype = 'e')
