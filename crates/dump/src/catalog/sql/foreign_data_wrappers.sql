-- Foreign-data wrappers.
select 'pg_foreign_data_wrapper'::regclass::oid as class, w.oid as object, w.fdwname::text as name,
       null::oid as relation,
       format('create foreign data wrapper %1$I %2$s %3$s%4$s;
alter foreign data wrapper %1$I owner to %5$I;',
              w.fdwname,
              case when w.fdwhandler <> 0 then format('handler %s', w.fdwhandler::regproc)
                   else 'no handler' end,
              case when w.fdwvalidator <> 0 then format('validator %s', w.fdwvalidator::regproc)
                   else 'no validator' end,
              (select format(' options (%s)', string_agg(format('%I %L', o.option_name, o.option_value), ', '))
               from pg_options_to_table(w.fdwoptions) o having count(*) > 0),
              pg_get_userbyid(w.fdwowner)) as sql
from pg_foreign_data_wrapper w
where w.oid >= 16384
