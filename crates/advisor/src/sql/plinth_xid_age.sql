-- Tables whose oldest rows are far from frozen: at two thousand million transactions the server stops.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('The oldest row of table %I.%I is %s transactions old; at about 2,000,000,000 the server stops writing.',
              n.nspname, c.relname, age(c.relfrozenxid)) as detail,
       format('vacuum (freeze) %I.%I;', n.nspname, c.relname) as fix,
       jsonb_build_object('age', age(c.relfrozenxid)) as metadata, format('%s_%s', n.nspname, c.relname) as key
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
cross join given
where c.relkind in ('r', 'm') and age(c.relfrozenxid) >= (given.limits ->> 'transaction_age')::bigint
  and n.nspname <> all (given.system_schemas)
