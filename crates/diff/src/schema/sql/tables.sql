-- What `alter table` can change of a table, besides its columns and constraints.
select c.oid as object, format('%I.%I', n.nspname, c.relname) as name,
       c.relkind::text as kind, c.relpersistence::text as persistence, c.relispartition as is_partition,
       case when c.reloftype <> 0 then format_type(c.reloftype, null) end as of_type,
       pg_get_partkeydef(c.oid) as partition_key,
       (select m.amname::text from pg_am m where m.oid = c.relam) as access_method,
       (select s.spcname::text from pg_tablespace s where s.oid = c.reltablespace) as tablespace,
       coalesce((select array_agg(format('%I.%I', pn.nspname, p.relname) order by h.inhseqno)
                 from pg_inherits h
                 join pg_class p on p.oid = h.inhparent
                 join pg_namespace pn on pn.oid = p.relnamespace
                 where h.inhrelid = c.oid), '{}') as parents,
       coalesce((select array_agg(o.name order by o.name)
                 from (select quote_ident(option_name) as name from pg_options_to_table(c.reloptions)
                       union all
                       select 'toast.' || quote_ident(option_name)
                       from pg_class t cross join lateral pg_options_to_table(t.reloptions)
                       where t.oid = c.reltoastrelid) o), '{}') as option_names,
       coalesce((select array_agg(o.value order by o.name)
                 from (select quote_ident(option_name) as name, option_value as value
                       from pg_options_to_table(c.reloptions)
                       union all
                       select 'toast.' || quote_ident(option_name), option_value
                       from pg_class t cross join lateral pg_options_to_table(t.reloptions)
                       where t.oid = c.reltoastrelid) o), '{}') as option_values,
       (select s.srvname::text from pg_foreign_table f join pg_foreign_server s on s.oid = f.ftserver
        where f.ftrelid = c.oid) as server,
       coalesce((select array_agg(o.option_name::text order by o.option_name)
                 from pg_foreign_table f cross join lateral pg_options_to_table(f.ftoptions) o
                 where f.ftrelid = c.oid), '{}') as foreign_names,
       coalesce((select array_agg(coalesce(o.option_value, '') order by o.option_name)
                 from pg_foreign_table f cross join lateral pg_options_to_table(f.ftoptions) o
                 where f.ftrelid = c.oid), '{}') as foreign_values,
       c.relrowsecurity as has_row_security, c.relforcerowsecurity as forces_row_security,
       c.relreplident::text as replica_identity,
       (select i.relname::text from pg_index x join pg_class i on i.oid = x.indexrelid
        where x.indrelid = c.oid and x.indisclustered) as clustered_on,
       -- A table that becomes a partition must have these beforehand.
       coalesce((select array_agg(format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) order by k.conname)
                 from pg_constraint k
                 where k.conrelid = c.oid and k.contype = 'c' and not k.conislocal
                   and c.relispartition), '{}') as inherited_checks
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't'
