-- Operators. A commutator or negator that comes later is made as a shell and filled then.
select 'pg_operator'::regclass::oid as class, o.oid as object, i.identity as name,
       null::oid as relation,
       format('create operator %1$I.%2$s (function = %3$s%4$s, rightarg = %5$s%6$s%7$s%8$s%9$s%10$s%11$s);
alter operator %12$s owner to %13$I;',
              n.nspname, o.oprname, o.oprcode,
              case when o.oprleft <> 0 then format(', leftarg = %s', format_type(o.oprleft, null)) end,
              format_type(o.oprright, null),
              (select format(', commutator = operator(%I.%s)', xn.nspname, x.oprname)
               from pg_operator x join pg_namespace xn on xn.oid = x.oprnamespace where x.oid = o.oprcom),
              (select format(', negator = operator(%I.%s)', xn.nspname, x.oprname)
               from pg_operator x join pg_namespace xn on xn.oid = x.oprnamespace where x.oid = o.oprnegate),
              case when o.oprrest <> 0 then format(', restrict = %s', o.oprrest) end,
              case when o.oprjoin <> 0 then format(', join = %s', o.oprjoin) end,
              case when o.oprcanmerge then ', merges' end,
              case when o.oprcanhash then ', hashes' end,
              format('%I.%s (%s, %s)', n.nspname, o.oprname,
                     case when o.oprleft = 0 then 'none' else format_type(o.oprleft, null) end,
                     format_type(o.oprright, null)),
              pg_get_userbyid(o.oprowner)) as sql
from pg_operator o
join pg_namespace n on n.oid = o.oprnamespace
cross join lateral pg_identify_object('pg_operator'::regclass, o.oid, 0) i
where o.oid >= 16384 and o.oprcode <> 0
