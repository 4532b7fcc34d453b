-- Not-null constraints that were never checked against the rows (from PostgreSQL 18 on).
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%I.%I %I', n.nspname, c.relname, k.conname) as name, c.oid as relation,
       format('alter table %I.%I add constraint %I %s;', n.nspname, c.relname, k.conname,
              pg_get_constraintdef(k.oid)) as sql
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.oid >= 16384 and k.contype = 'n' and k.conislocal and not k.convalidated
