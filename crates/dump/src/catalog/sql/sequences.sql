-- Sequences that stand alone; those of identity columns come with their tables.
select 'pg_class'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.relname) as name, null::oid as relation,
       format('create %1$ssequence %2$I.%3$I as %4$s increment by %5$s minvalue %6$s maxvalue %7$s start with %8$s cache %9$s%10$s;
alter sequence %2$I.%3$I owner to %11$I;',
              case c.relpersistence when 'u' then 'unlogged ' end,
              n.nspname, c.relname, format_type(s.seqtypid, null), s.seqincrement, s.seqmin, s.seqmax,
              s.seqstart, s.seqcache, case when s.seqcycle then ' cycle' end,
              pg_get_userbyid(c.relowner)) as sql
from pg_sequence s
join pg_class c on c.oid = s.seqrelid
join pg_namespace n on n.oid = c.relnamespace
where c.oid >= 16384 and c.relpersistence <> 't'
  and not exists (select from pg_depend d
                  where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i'
                    and d.refobjsubid > 0)
