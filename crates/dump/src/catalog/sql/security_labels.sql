-- Security labels.
select l.classoid as class, l.objoid as object, format('%s %s', l.objtype, l.objname) as name,
       null::oid as relation,
       format('security label for %I on %s %s is %L;', l.provider, l.objtype, l.objname, l.label) as sql
from pg_seclabels l
where l.classoid not in ('pg_database'::regclass, 'pg_authid'::regclass, 'pg_tablespace'::regclass,
                         'pg_subscription'::regclass)
