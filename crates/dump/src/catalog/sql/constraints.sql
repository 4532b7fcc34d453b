-- Primary keys, unique and exclusion constraints, with what their indexes were told besides.
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%I.%I %I', n.nspname, c.relname, k.conname) as name, c.oid as relation,
       concat(
           format('alter table only %I.%I add constraint %I %s;', n.nspname, c.relname, k.conname,
                  pg_get_constraintdef(k.oid)),
           (select format(E'\nalter index %I.%I set (%s);', n.nspname, i.relname,
                          string_agg(format('%I = %L', o.option_name, o.option_value), ', '))
            from pg_options_to_table(i.reloptions) o having count(*) > 0),
           (select format(E'\nalter index %I.%I set tablespace %I;', n.nspname, i.relname, s.spcname)
            from pg_tablespace s where s.oid = i.reltablespace)) as sql
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
join pg_class i on i.oid = k.conindid
where k.oid >= 16384 and k.contype in ('p', 'u', 'x') and c.relpersistence <> 't'
