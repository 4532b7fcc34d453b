-- Range types, each with its multirange.
select 'pg_type'::regclass::oid as class, t.oid as object,
       format('%I.%I', n.nspname, t.typname) as name, null::oid as relation,
       format('create type %1$I.%2$I as range (subtype = %3$s, subtype_opclass = %4$I.%5$I%6$s%7$s, multirange_type_name = %8$I.%9$I);
alter type %1$I.%2$I owner to %10$I;',
              n.nspname, t.typname, format_type(r.rngsubtype, null), ocn.nspname, oc.opcname,
              case when r.rngcollation <> 0 and r.rngcollation <> st.typcollation
                   then format(', collation = %I.%I', cn.nspname, co.collname) end,
              case when r.rngsubdiff <> 0 then format(', subtype_diff = %I.%I', dn.nspname, d.proname) end,
              mn.nspname, m.typname,
              pg_get_userbyid(t.typowner)) as sql
from pg_range r
join pg_type t on t.oid = r.rngtypid
join pg_namespace n on n.oid = t.typnamespace
join pg_type st on st.oid = r.rngsubtype
join pg_type m on m.oid = r.rngmultitypid
join pg_namespace mn on mn.oid = m.typnamespace
join pg_opclass oc on oc.oid = r.rngsubopc
join pg_namespace ocn on ocn.oid = oc.opcnamespace
left join pg_collation co on co.oid = r.rngcollation
left join pg_namespace cn on cn.oid = co.collnamespace
left join pg_proc d on d.oid = r.rngsubdiff
left join pg_namespace dn on dn.oid = d.pronamespace
where t.oid >= 16384
