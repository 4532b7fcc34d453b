-- $1: how many. Partitions are left out, their parents are there.
select n.nspname::text as schema, t.relname::text as "table", a.attname::text as "column",
    case c.confdeltype
        when 'c' then 'cascade'
        when 'n' then 'set null'
        when 'd' then 'set default'
        when 'r' then 'restrict'
        else 'no action'
    end as on_delete
from pg_catalog.pg_constraint as c
join pg_catalog.pg_class as t on t.oid = c.conrelid
join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
join pg_catalog.pg_attribute as a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
join pg_catalog.pg_class as u on u.oid = c.confrelid and u.relname = 'users'
join pg_catalog.pg_namespace as un on un.oid = u.relnamespace and un.nspname = 'auth'
join pg_catalog.pg_attribute as ua on ua.attrelid = c.confrelid and ua.attnum = c.confkey[1]
where c.contype = 'f'
    and pg_catalog.array_length(c.conkey, 1) = 1
    and ua.attname = 'id'
    and n.nspname <> 'auth'
    and not t.relispartition
union all
select n.nspname::text, t.relname::text, a.attname::text, null
from pg_catalog.pg_class as t
join pg_catalog.pg_namespace as n on n.oid = t.relnamespace and n.nspname = 'storage'
join pg_catalog.pg_attribute as a on a.attrelid = t.oid and a.attname = 'owner_id'
where t.relname in ('objects', 'buckets')
order by 1, 2, 3
limit $1
