-- Views.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, null::oid as relation,
       format('create view %1$I.%2$I%3$s as %4$s;
alter view %1$I.%2$I owner to %5$I;', n.nspname, c.relname,
              (select format(' with (%s)', string_agg(format('%I = %L', o.option_name, o.option_value), ', '))
               from pg_options_to_table(c.reloptions) o having count(*) > 0),
              rtrim(pg_get_viewdef(c.oid), ';'), pg_get_userbyid(c.relowner)) as sql
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind = 'v' and c.relpersistence <> 't'
