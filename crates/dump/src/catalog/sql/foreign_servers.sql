-- Foreign servers.
select 'pg_foreign_server'::regclass::oid as class, s.oid as object, s.srvname::text as name,
       null::oid as relation,
       format('create server %1$I%2$s%3$s foreign data wrapper %4$I%5$s;
alter server %1$I owner to %6$I;',
              s.srvname,
              case when s.srvtype is not null then format(' type %L', s.srvtype) end,
              case when s.srvversion is not null then format(' version %L', s.srvversion) end,
              w.fdwname,
              (select format(' options (%s)', string_agg(format('%I %L', o.option_name, o.option_value), ', '))
               from pg_options_to_table(s.srvoptions) o having count(*) > 0),
              pg_get_userbyid(s.srvowner)) as sql
from pg_foreign_server s
join pg_foreign_data_wrapper w on w.oid = s.srvfdw
where s.oid >= 16384
