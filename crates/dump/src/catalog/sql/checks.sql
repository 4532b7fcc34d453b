-- Checks of tables that held for all rows. A child's own stands before its parent's, which then
-- merges with it; one that is only inherited comes by itself, unless it holds and the parent's was
-- never made against all rows.
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%s %I.%I %I', case when k.coninhcount > 0 then 0 else 1 end, n.nspname, c.relname,
              k.conname) as name,
       c.oid as relation,
       format('alter table %I.%I add constraint %I %s;', n.nspname, c.relname, k.conname,
              pg_get_constraintdef(k.oid)) as sql
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.oid >= 16384 and k.contype = 'c' and k.convalidated
  and (k.conislocal
       or exists (select from pg_inherits h
                  join pg_constraint p on p.conrelid = h.inhparent and p.conname = k.conname
                  where h.inhrelid = k.conrelid and p.contype = 'c' and not p.convalidated))
  and c.relpersistence <> 't'
