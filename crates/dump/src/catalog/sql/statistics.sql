-- Extended statistics.
select 'pg_statistic_ext'::regclass::oid as class, s.oid as object,
       format('%I.%I', n.nspname, s.stxname) as name, s.stxrelid as relation,
       concat(
           pg_get_statisticsobjdef(s.oid), E';\n',
           case when s.stxstattarget >= 0 then
                format(E'alter statistics %I.%I set statistics %s;\n', n.nspname, s.stxname, s.stxstattarget) end,
           format('alter statistics %I.%I owner to %I;', n.nspname, s.stxname, pg_get_userbyid(s.stxowner))) as sql
from pg_statistic_ext s
join pg_namespace n on n.oid = s.stxnamespace
where s.oid >= 16384
