-- Schemas of publications.
select 'pg_publication_namespace'::regclass::oid as class, s.oid as object,
       format('%I %I', p.pubname, n.nspname) as name, null::oid as relation,
       format('alter publication %I add tables in schema %I;', p.pubname, n.nspname) as sql
from pg_publication_namespace s
join pg_publication p on p.oid = s.pnpubid
join pg_namespace n on n.oid = s.pnnspid
where s.oid >= 16384
