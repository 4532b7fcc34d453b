-- Operator classes with the operators and functions that belong to them.
select 'pg_opclass'::regclass::oid as class, c.oid as object,
       format('%I.%I using %I', n.nspname, c.opcname, m.amname) as name, null::oid as relation,
       format('create operator class %1$I.%2$I %3$sfor type %4$s using %5$I family %6$I.%7$I as %8$s;
alter operator class %1$I.%2$I using %5$I owner to %9$I;',
              n.nspname, c.opcname, case when c.opcdefault then 'default ' end,
              format_type(c.opcintype, null), m.amname, fn.nspname, f.opfname,
              coalesce(
                  (select string_agg(part, ', ' order by part)
                   from (select format('operator %s %s%s', ao.amopstrategy,
                                       ao.amopopr::regoperator,
                                       case when ao.amopsortfamily <> 0 then
                                            (select format(' for order by %I.%I', sn.nspname, s.opfname)
                                             from pg_opfamily s
                                             join pg_namespace sn on sn.oid = s.opfnamespace
                                             where s.oid = ao.amopsortfamily) end) as part
                         from pg_depend d
                         join pg_amop ao on ao.oid = d.objid
                         where d.classid = 'pg_amop'::regclass
                           and d.refclassid = 'pg_opclass'::regclass and d.refobjid = c.oid
                         union all
                         select format('function %s (%s, %s) %s', ap.amprocnum,
                                       format_type(ap.amproclefttype, null),
                                       format_type(ap.amprocrighttype, null),
                                       ap.amproc::regprocedure)
                         from pg_depend d
                         join pg_amproc ap on ap.oid = d.objid
                         where d.classid = 'pg_amproc'::regclass
                           and d.refclassid = 'pg_opclass'::regclass and d.refobjid = c.oid
                         union all
                         select format('storage %s', format_type(c.opckeytype, null))
                         where c.opckeytype <> 0) parts),
                  format('storage %s', format_type(c.opcintype, null))),
              pg_get_userbyid(c.opcowner)) as sql
from pg_opclass c
join pg_namespace n on n.oid = c.opcnamespace
join pg_am m on m.oid = c.opcmethod
join pg_opfamily f on f.oid = c.opcfamily
join pg_namespace fn on fn.oid = f.opfnamespace
where c.oid >= 16384
