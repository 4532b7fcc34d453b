-- Tables and foreign tables. A partition is made as a table of its own and attached later, which
-- keeps the order of its columns; a child takes its parents' columns by inheritance.
with columns as (
    select a.attrelid, a.attnum, a.attname,
           (a.attislocal or c.relispartition) and c.reloftype = 0 as is_written,
           format('%I%s%s%s%s%s%s', a.attname,
                  case when c.reloftype <> 0 then ' with options'
                       else ' ' || format_type(a.atttypid, a.atttypmod) end,
                  case when a.attcollation <> t.typcollation and c.reloftype = 0
                       then format(' collate %I.%I', cn.nspname, co.collname) end,
                  (select format(' options (%s)',
                                 string_agg(format('%I %L', o.option_name, o.option_value), ', '))
                   from pg_options_to_table(a.attfdwoptions) o having count(*) > 0),
                  case when a.attgenerated <> '' then
                       format(' generated always as (%s) %s',
                              (select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d
                               where d.adrelid = a.attrelid and d.adnum = a.attnum),
                              case a.attgenerated when 'v' then 'virtual' else 'stored' end) end,
                  (select format(' generated %s as identity (sequence name %I.%I increment by %s minvalue %s maxvalue %s start with %s cache %s%s)',
                                 case a.attidentity when 'a' then 'always' else 'by default' end,
                                 sn.nspname, sc.relname, s.seqincrement, s.seqmin, s.seqmax,
                                 s.seqstart, s.seqcache, case when s.seqcycle then ' cycle' end)
                   from pg_depend d
                   join pg_sequence s on s.seqrelid = d.objid
                   join pg_class sc on sc.oid = s.seqrelid
                   join pg_namespace sn on sn.oid = sc.relnamespace
                   where a.attidentity <> '' and d.classid = 'pg_class'::regclass
                     and d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid
                     and d.refobjsubid = a.attnum and d.deptype = 'i'),
                  case when k.oid is not null and k.convalidated
                            and (k.conislocal or c.relispartition)
                       then format(' constraint %I not null%s', k.conname,
                                   case when k.connoinherit then ' no inherit' end)
                       when k.oid is null and a.attnotnull then ' not null' end) as definition,
           a.attislocal or c.relispartition as is_local,
           a.attnotnull and k.oid is null as is_plainly_not_null,
           k.conname as not_null_name, k.connoinherit as not_null_only_here,
           k.oid is not null and k.convalidated and k.conislocal as is_not_null_here,
           a.attidentity <> '' or a.attgenerated <> '' as is_made,
           concat(
               case when a.attstorage <> t.typstorage then
                    format(E'alter table only %1$I.%2$I alter column %3$I set storage %4$s;\n',
                           n.nspname, c.relname, a.attname,
                           case a.attstorage when 'p' then 'plain' when 'e' then 'external'
                                when 'm' then 'main' else 'extended' end) end,
               case when a.attcompression <> '' then
                    format(E'alter table only %1$I.%2$I alter column %3$I set compression %4$s;\n',
                           n.nspname, c.relname, a.attname,
                           case a.attcompression when 'p' then 'pglz' else 'lz4' end) end,
               case when a.attstattarget >= 0 then
                    format(E'alter table only %1$I.%2$I alter column %3$I set statistics %4$s;\n',
                           n.nspname, c.relname, a.attname, a.attstattarget) end,
               (select format(E'alter table only %1$I.%2$I alter column %3$I set (%4$s);\n',
                              n.nspname, c.relname, a.attname,
                              string_agg(format('%I = %L', o.option_name, o.option_value), ', '))
                from pg_options_to_table(a.attoptions) o
                -- Bookkeeping of newer minor releases, which each database makes for itself.
                where o.option_name <> 'pg_attver' having count(*) > 0)) as settings
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    join pg_type t on t.oid = a.atttypid
    left join pg_collation co on co.oid = a.attcollation
    left join pg_namespace cn on cn.oid = co.collnamespace
    left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum]
    where a.attrelid >= 16384 and c.relkind in ('r', 'p', 'f') and a.attnum > 0
      and not a.attisdropped and c.relpersistence <> 't'
)
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, null::oid as relation,
       concat(
           format('create %s%stable %I.%I%s ',
                  case c.relpersistence when 'u' then 'unlogged ' end,
                  case c.relkind when 'f' then 'foreign ' end,
                  n.nspname, c.relname,
                  case when c.reloftype <> 0 then ' of ' || format_type(c.reloftype, null) end),
           (select coalesce(
                       '(' || string_agg(
                           case when l.is_written or (c.reloftype <> 0 and (l.is_made or l.is_not_null_here or l.is_plainly_not_null))
                                then l.definition
                                else format('constraint %I not null %I%s', l.not_null_name, l.attname,
                                            case when l.not_null_only_here then ' no inherit' end) end,
                           ', ' order by l.attnum) || ')',
                       case when c.reloftype = 0 then '()' end)
            from columns l
            where l.attrelid = c.oid
              and (l.is_written or l.is_not_null_here
                   or (c.reloftype <> 0 and (l.is_made or l.is_plainly_not_null)))),
           case when not c.relispartition then
                (select format(' inherits (%s)',
                               string_agg(format('%I.%I', pn.nspname, p.relname), ', ' order by h.inhseqno))
                 from pg_inherits h
                 join pg_class p on p.oid = h.inhparent
                 join pg_namespace pn on pn.oid = p.relnamespace
                 where h.inhrelid = c.oid having count(*) > 0) end,
           case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) end,
           case when c.relkind = 'f' then
                (select format(' server %I%s', s.srvname,
                               (select format(' options (%s)',
                                              string_agg(format('%I %L', o.option_name, o.option_value), ', '))
                                from pg_options_to_table(f.ftoptions) o having count(*) > 0))
                 from pg_foreign_table f join pg_foreign_server s on s.oid = f.ftserver
                 where f.ftrelid = c.oid) end,
           case when c.relam <> 0 then (select format(' using %I', m.amname) from pg_am m where m.oid = c.relam) end,
           (select format(' with (%s)', string_agg(part, ', '))
            from (select format('%I = %L', o.option_name, o.option_value) as part
                  from pg_options_to_table(c.reloptions) o
                  union all
                  select format('toast.%I = %L', o.option_name, o.option_value)
                  from pg_class tc cross join lateral pg_options_to_table(tc.reloptions) o
                  where tc.oid = c.reltoastrelid) parts
            having count(*) > 0),
           (select format(' tablespace %I', s.spcname) from pg_tablespace s where s.oid = c.reltablespace),
           E';\n',
           (select string_agg(
                       concat(case when not l.is_local and l.is_plainly_not_null and c.reloftype = 0 then
                                   format(E'alter table only %I.%I alter column %I set not null;\n',
                                          n.nspname, c.relname, l.attname) end,
                              l.settings), '' order by l.attnum)
            from columns l where l.attrelid = c.oid),
           format('alter %stable %I.%I owner to %I;', case c.relkind when 'f' then 'foreign ' end,
                  n.nspname, c.relname, pg_get_userbyid(c.relowner))) as sql
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't'
