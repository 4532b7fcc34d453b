-- Large objects, still empty.
select 'pg_largeobject'::regclass::oid as class, m.oid as object, m.oid::text as name,
       null::oid as relation,
       format('select pg_catalog.lo_create(%1$s);
alter large object %1$s owner to %2$I;', m.oid, pg_get_userbyid(m.lomowner)) as sql
from pg_largeobject_metadata m
