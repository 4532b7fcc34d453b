-- Composite types that stand alone; those of tables come with them.
select 'pg_type'::regclass::oid as class, t.oid as object,
       format('%I.%I', n.nspname, t.typname) as name, null::oid as relation,
       format('create type %1$I.%2$I as (%3$s);
alter type %1$I.%2$I owner to %4$I;',
              n.nspname, t.typname,
              (select string_agg(
                          format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                                 case when a.attcollation <> at.typcollation
                                      then format(' collate %I.%I', cn.nspname, co.collname) end),
                          ', ' order by a.attnum)
               from pg_attribute a
               join pg_type at on at.oid = a.atttypid
               left join pg_collation co on co.oid = a.attcollation
               left join pg_namespace cn on cn.oid = co.collnamespace
               where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped),
              pg_get_userbyid(t.typowner)) as sql
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
where t.oid >= 16384 and t.typtype = 'c'
