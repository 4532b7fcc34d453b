-- Domains without their checks, which are statements of their own.
select 'pg_type'::regclass::oid as class, t.oid as object,
       format('%I.%I', n.nspname, t.typname) as name, null::oid as relation,
       format('create domain %1$I.%2$I as %3$s%4$s%5$s%6$s;
alter domain %1$I.%2$I owner to %7$I;',
              n.nspname, t.typname, format_type(t.typbasetype, t.typtypmod),
              case when t.typcollation <> b.typcollation
                   then format(' collate %I.%I', cn.nspname, co.collname) end,
              ' default ' || pg_get_expr(t.typdefaultbin, 'pg_type'::regclass),
              case when t.typnotnull
                   then format('%s not null', (select format(' constraint %I', k.conname)
                                               from pg_constraint k
                                               where k.contypid = t.oid and k.contype = 'n')) end,
              pg_get_userbyid(t.typowner)) as sql
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
join pg_type b on b.oid = t.typbasetype
left join pg_collation co on co.oid = t.typcollation
left join pg_namespace cn on cn.oid = co.collnamespace
where t.oid >= 16384 and t.typtype = 'd'
