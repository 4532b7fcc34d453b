-- Aggregates. Ordered-set ones separate direct from aggregated arguments.
select 'pg_proc'::regclass::oid as class, p.oid as object, i.identity as name, null::oid as relation,
       format('create aggregate %1$I.%2$I (%3$s) (sfunc = %4$s, stype = %5$s%6$s%7$s%8$s%9$s%10$s%11$s%12$s%13$s%14$s%15$s%16$s%17$s%18$s%19$s%20$s);
alter routine %21$s owner to %22$I;',
              n.nspname, p.proname,
              coalesce(nullif(pg_get_function_arguments(p.oid), ''), '*'),
              a.aggtransfn, format_type(a.aggtranstype, null),
              case when a.aggtransspace <> 0 then format(', sspace = %s', a.aggtransspace) end,
              case when a.aggfinalfn <> 0 then format(', finalfunc = %s', a.aggfinalfn) end,
              case when a.aggfinalextra then ', finalfunc_extra' end,
              case when a.aggfinalfn <> 0 then
                   format(', finalfunc_modify = %s', case a.aggfinalmodify when 'r' then 'read_only'
                          when 's' then 'shareable' else 'read_write' end) end,
              case when a.aggcombinefn <> 0 then format(', combinefunc = %s', a.aggcombinefn) end,
              case when a.aggserialfn <> 0 then format(', serialfunc = %s', a.aggserialfn) end,
              case when a.aggdeserialfn <> 0 then format(', deserialfunc = %s', a.aggdeserialfn) end,
              case when a.agginitval is not null then format(', initcond = %L', a.agginitval) end,
              case when a.aggmtransfn <> 0 then format(', msfunc = %s', a.aggmtransfn) end,
              case when a.aggminvtransfn <> 0 then format(', minvfunc = %s', a.aggminvtransfn) end,
              case when a.aggmtranstype <> 0 then
                   format(', mstype = %s', format_type(a.aggmtranstype, null))
                   || case when a.aggmtransspace <> 0
                           then format(', msspace = %s', a.aggmtransspace) else '' end end,
              case when a.aggmfinalfn <> 0 then
                   format(', mfinalfunc = %s, mfinalfunc_modify = %s%s', a.aggmfinalfn,
                          case a.aggmfinalmodify when 'r' then 'read_only'
                          when 's' then 'shareable' else 'read_write' end,
                          case when a.aggmfinalextra then ', mfinalfunc_extra' end) end,
              case when a.aggminitval is not null then format(', minitcond = %L', a.aggminitval) end,
              case when a.aggsortop <> 0
                   then (select format(', sortop = operator(%I.%s)', sn.nspname, o.oprname)
                         from pg_operator o join pg_namespace sn on sn.oid = o.oprnamespace
                         where o.oid = a.aggsortop) end,
              format(', parallel = %s', case p.proparallel when 's' then 'safe'
                     when 'r' then 'restricted' else 'unsafe' end)
              || case when a.aggkind = 'h' then ', hypothetical' else '' end,
              i.identity, pg_get_userbyid(p.proowner)) as sql
from pg_aggregate a
join pg_proc p on p.oid = a.aggfnoid
join pg_namespace n on n.oid = p.pronamespace
cross join lateral pg_identify_object('pg_proc'::regclass, p.oid, 0) i
where p.oid >= 16384
