-- Triggers. Those of partitions come with their parent's, and only their state is said.
select 'pg_trigger'::regclass::oid as class, t.oid as object,
       format('%I.%I %I', n.nspname, c.relname, t.tgname) as name, c.oid as relation,
       concat(
           case when t.tgparentid = 0 then pg_get_triggerdef(t.oid) || E';\n' end,
           case when t.tgenabled <> coalesce(p.tgenabled, 'O') then
                format(E'alter table only %I.%I %s trigger %I;', n.nspname, c.relname,
                       case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica'
                            when 'A' then 'enable always' else 'enable' end, t.tgname) end) as sql
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
join pg_namespace n on n.oid = c.relnamespace
left join pg_trigger p on p.oid = t.tgparentid
where t.oid >= 16384 and not t.tgisinternal and c.relpersistence <> 't'
  and (t.tgparentid = 0 or t.tgenabled <> p.tgenabled)
