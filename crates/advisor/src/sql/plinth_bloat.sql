-- Tables with many dead rows.
select s.schemaname::text as schema, s.relname::text as name, 'table' as type,
       format('Table %I.%I has %s dead rows beside %s live ones: vacuum does not keep up.', s.schemaname, s.relname, s.n_dead_tup, s.n_live_tup) as detail,
       format('vacuum (analyze) %I.%I;', s.schemaname, s.relname) as fix,
       jsonb_build_object('dead_rows', s.n_dead_tup, 'live_rows', s.n_live_tup) as metadata,
       format('%s_%s', s.schemaname, s.relname) as key
from pg_stat_user_tables s
cross join given
where s.n_dead_tup >= (given.limits ->> 'dead_rows')::bigint and s.n_dead_tup > s.n_live_tup * 0.2
  and s.schemaname <> all (given.system_schemas)
