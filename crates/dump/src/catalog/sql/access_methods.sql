-- Access methods.
select 'pg_am'::regclass::oid as class, a.oid as object, a.amname::text as name, null::oid as relation,
       format('create access method %I type %s handler %s;', a.amname,
              case a.amtype when 'i' then 'index' else 'table' end, a.amhandler) as sql
from pg_am a
where a.oid >= 16384
