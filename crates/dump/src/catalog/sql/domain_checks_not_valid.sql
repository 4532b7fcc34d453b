-- Checks of domains that were never checked against the rows.
select 'pg_constraint'::regclass::oid as class, k.oid as object,
       format('%I on %I.%I', k.conname, n.nspname, t.typname) as name, null::oid as relation,
       format('alter domain %I.%I add constraint %I %s;',
              n.nspname, t.typname, k.conname, pg_get_constraintdef(k.oid)) as sql
from pg_constraint k
join pg_type t on t.oid = k.contypid
join pg_namespace n on n.oid = t.typnamespace
where k.oid >= 16384 and k.contype = 'c' and not k.convalidated
