-- Materialized views, still empty.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, null::oid as relation,
       concat(
           format('create materialized view %I.%I%s%s%s as %s with no data;
', n.nspname, c.relname,
                  (select format(' using %I', m.amname) from pg_am m where m.oid = c.relam),
                  (select format(' with (%s)', string_agg(format('%I = %L', o.option_name, o.option_value), ', '))
                   from pg_options_to_table(c.reloptions) o having count(*) > 0),
                  (select format(' tablespace %I', s.spcname) from pg_tablespace s where s.oid = c.reltablespace),
                  rtrim(pg_get_viewdef(c.oid), ';')),
           (select string_agg(
                       concat(
                           case when a.attstorage <> t.typstorage then
                                format(E'alter materialized view %1$I.%2$I alter column %3$I set storage %4$s;\n',
                                       n.nspname, c.relname, a.attname,
                                       case a.attstorage when 'p' then 'plain' when 'e' then 'external'
                                            when 'm' then 'main' else 'extended' end) end,
                           case when a.attstattarget >= 0 then
                                format(E'alter materialized view %1$I.%2$I alter column %3$I set statistics %4$s;\n',
                                       n.nspname, c.relname, a.attname, a.attstattarget) end),
                       '' order by a.attnum)
            from pg_attribute a join pg_type t on t.oid = a.atttypid
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
           format('alter materialized view %I.%I owner to %I;', n.nspname, c.relname,
                  pg_get_userbyid(c.relowner))) as sql
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind = 'm'
