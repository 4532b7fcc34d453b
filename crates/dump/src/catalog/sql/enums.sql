-- Enum types with their labels in order.
select 'pg_type'::regclass::oid as class, t.oid as object,
       format('%I.%I', n.nspname, t.typname) as name, null::oid as relation,
       format('create type %1$I.%2$I as enum (%3$s);
alter type %1$I.%2$I owner to %4$I;',
              n.nspname, t.typname,
              (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
               from pg_enum e where e.enumtypid = t.oid),
              pg_get_userbyid(t.typowner)) as sql
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
where t.oid >= 16384 and t.typtype = 'e'
