-- Tables that changed much since their statistics were made, or have none.
select s.schemaname::text as schema, s.relname::text as name, 'table' as type,
       format('%s rows of table %I.%I changed since its statistics were made, which decide how queries run.',
              s.n_mod_since_analyze, s.schemaname, s.relname) as detail,
       format('analyze %I.%I;', s.schemaname, s.relname) as fix,
       jsonb_build_object('changed_rows', s.n_mod_since_analyze,
                          'analyzed_at', greatest(s.last_analyze, s.last_autoanalyze)) as metadata,
       format('%s_%s', s.schemaname, s.relname) as key
from pg_stat_user_tables s
cross join given
where s.n_mod_since_analyze >= (given.limits ->> 'changed_rows')::bigint
  and s.n_mod_since_analyze > s.n_live_tup * 0.5
  and s.schemaname <> all (given.system_schemas)
