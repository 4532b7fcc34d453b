-- Operator families, still empty.
select 'pg_opfamily'::regclass::oid as class, f.oid as object,
       format('%I.%I using %I', n.nspname, f.opfname, m.amname) as name, null::oid as relation,
       format('create operator family %1$I.%2$I using %3$I;
alter operator family %1$I.%2$I using %3$I owner to %4$I;',
              n.nspname, f.opfname, m.amname, pg_get_userbyid(f.opfowner)) as sql
from pg_opfamily f
join pg_namespace n on n.oid = f.opfnamespace
join pg_am m on m.oid = f.opfmethod
where f.oid >= 16384
