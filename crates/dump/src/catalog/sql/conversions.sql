-- Conversions between encodings.
select 'pg_conversion'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.conname) as name, null::oid as relation,
       format('create %1$sconversion %2$I.%3$I for %4$L to %5$L from %6$s;
alter conversion %2$I.%3$I owner to %7$I;',
              case when c.condefault then 'default ' end, n.nspname, c.conname,
              pg_encoding_to_char(c.conforencoding), pg_encoding_to_char(c.contoencoding), c.conproc,
              pg_get_userbyid(c.conowner)) as sql
from pg_conversion c
join pg_namespace n on n.oid = c.connamespace
where c.oid >= 16384
