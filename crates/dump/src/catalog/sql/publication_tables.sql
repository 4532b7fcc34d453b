-- Tables of publications, with their rows and columns.
select 'pg_publication_rel'::regclass::oid as class, r.oid as object,
       format('%I %I.%I', p.pubname, n.nspname, c.relname) as name, null::oid as relation,
       format('alter publication %I add table only %I.%I%s%s;', p.pubname, n.nspname, c.relname,
              (select format(' (%s)', string_agg(quote_ident(a.attname), ', ' order by k.at))
               from unnest(r.prattrs) with ordinality k (number, at)
               join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
               having count(*) > 0),
              ' where (' || pg_get_expr(r.prqual, r.prrelid) || ')') as sql
from pg_publication_rel r
join pg_publication p on p.oid = r.prpubid
join pg_class c on c.oid = r.prrelid
join pg_namespace n on n.oid = c.relnamespace
where r.oid >= 16384
