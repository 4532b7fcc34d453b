-- Checks of tables that were never made against all rows. A child's own stands before its parent's, which
-- then merges with it; one that is only inherited comes by itself.
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%s %I.%I %I', case when k.coninhcount > 0 then 0 else 1 end, n.nspname, c.relname,
              k.conname) as name,
       c.oid as relation,
       format('alter table %I.%I add constraint %I %s;', n.nspname, c.relname, k.conname,
              pg_get_constraintdef(k.oid)) as sql
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.oid >= 16384 and k.contype = 'c' and k.conislocal and not k.convalidated
  and c.relpersistence <> 't'
