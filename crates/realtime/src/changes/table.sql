-- $1: the table's oid. One row per column, in the table's order; none if there is no such table.
-- Of a domain the type below it is what counts; of an array the type of its elements.
with recursive below (type_oid, base_oid) as (
    select a.atttypid, a.atttypid
    from pg_catalog.pg_attribute a
    where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
    union
    select b.type_oid, t.typbasetype
    from below b
    join pg_catalog.pg_type t on t.oid = b.base_oid
    where t.typtype = 'd'
)
select
    a.attname::text as name,
    a.atttypid as type_oid,
    declared.typname::text as type_name,
    pg_catalog.format('%I.%I', types.nspname, declared.typname) as type_sql,
    base.oid as base_type_oid,
    base.typtype::text as type_kind,
    element.oid as element_oid,
    element.typtype::text as element_kind,
    element.typdelim::text as delimiter,
    coalesce(l.collisdeterministic, true) as has_deterministic_collation,
    coalesce(a.attnum = any (i.indkey), false) as is_primary_key,
    c.relrowsecurity as has_row_security,
    n.nspname::text as table_schema,
    c.relname::text as table_name
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_catalog.pg_type declared on declared.oid = a.atttypid
join pg_catalog.pg_namespace types on types.oid = declared.typnamespace
join below b on b.type_oid = a.atttypid
join pg_catalog.pg_type base on base.oid = b.base_oid and base.typtype <> 'd'
left join pg_catalog.pg_type element
    on element.oid = base.typelem and base.typsubscript = 'array_subscript_handler'::regproc
left join pg_catalog.pg_collation l on l.oid = a.attcollation
left join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary
where c.oid = $1
order by a.attnum
