-- $1: the table's oid, $2: the role. No row if there is no such role.
select
    r.rolbypassrls or r.rolsuper as bypasses_row_security,
    coalesce(
        (
            select array_agg(a.attname::text order by a.attnum)
            from pg_catalog.pg_attribute a
            where a.attrelid = $1
              and a.attnum > 0
              and not a.attisdropped
              and pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')
        ),
        '{}'
    ) as readable_columns
from pg_catalog.pg_roles r
where r.rolname = $2
