-- $1: the table's oid. One row per policy for SELECT. PostgreSQL records a policy's dependencies on
-- objects that are not built in; calls of built-in functions are found in its text.
select
    pg_catalog.pg_get_expr(p.polqual, p.polrelid) as condition,
    exists (
        select
        from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass
          and d.objid = p.oid
          and (
              d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass
              or d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass
              or d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                  and d.refobjid <> p.polrelid
              or d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                  and not exists (
                      select
                      from pg_catalog.pg_proc f
                      join pg_catalog.pg_namespace n on n.oid = f.pronamespace
                      where f.oid = d.refobjid
                        and n.nspname = 'auth'
                        and f.proname = 'uid'
                        and f.pronargs = 0
                  )
          )
    ) as has_other_dependencies
from pg_catalog.pg_policy p
where p.polrelid = $1
  and p.polcmd in ('r', '*')
