-- Columns of tables, each part of their definition apart.
select a.attrelid as object, a.attnum::int4 as number, a.attname::text as name,
       quote_ident(a.attname) as quoted,
       format_type(a.atttypid, a.atttypmod) as type,
       case when a.attcollation <> t.typcollation then format('%I.%I', cn.nspname, co.collname) end as collation,
       case when a.attcollation <> 0 then format('%I.%I', cn.nspname, co.collname) end as full_collation,
       case when a.attgenerated <> '' then (select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d
                                            where d.adrelid = a.attrelid and d.adnum = a.attnum) end as generated,
       a.attgenerated::text as generated_kind,
       a.attidentity::text as identity,
       s.options as identity_options, s.name as identity_sequence,
       coalesce(a.attnotnull and (k.oid is null or k.convalidated), false) as is_not_null,
       quote_ident(k.conname) as not_null_name, coalesce(k.connoinherit, false) as not_null_only_here,
       a.attislocal as is_local, a.attinhcount::int4 as parents,
       case when a.attstorage <> t.typstorage then
            case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main'
                 else 'extended' end end as storage,
       case t.typstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main'
            else 'extended' end as default_storage,
       case a.attcompression when 'p' then 'pglz' when 'l' then 'lz4' end as compression,
       case when a.attstattarget >= 0 then a.attstattarget::int4 end as statistics,
       coalesce((select array_agg(quote_ident(o.option_name) order by o.option_name)
                 from pg_options_to_table(a.attoptions) o where o.option_name <> 'pg_attver'), '{}') as option_names,
       coalesce((select array_agg(o.option_value order by o.option_name)
                 from pg_options_to_table(a.attoptions) o where o.option_name <> 'pg_attver'), '{}') as option_values,
       coalesce((select array_agg(o.option_name::text order by o.option_name)
                 from pg_options_to_table(a.attfdwoptions) o), '{}') as foreign_names,
       coalesce((select array_agg(coalesce(o.option_value, '') order by o.option_name)
                 from pg_options_to_table(a.attfdwoptions) o), '{}') as foreign_values
from pg_attribute a
join pg_class c on c.oid = a.attrelid
join pg_type t on t.oid = a.atttypid
left join pg_collation co on co.oid = a.attcollation
left join pg_namespace cn on cn.oid = co.collnamespace
left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum]
left join lateral (
    select format('increment by %s minvalue %s maxvalue %s start with %s cache %s %s',
                  q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache,
                  case when q.seqcycle then 'cycle' else 'no cycle' end) as options,
           format('%I.%I', sn.nspname, sc.relname) as name
    from pg_depend d
    join pg_sequence q on q.seqrelid = d.objid
    join pg_class sc on sc.oid = q.seqrelid
    join pg_namespace sn on sn.oid = sc.relnamespace
    where a.attidentity <> '' and d.classid = 'pg_class'::regclass
      and d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid
      and d.refobjsubid = a.attnum and d.deptype = 'i') s on true
where a.attrelid >= 16384 and c.relkind in ('r', 'p', 'f') and a.attnum > 0
  and not a.attisdropped and c.relpersistence <> 't'
order by a.attrelid, a.attnum
