-- Collations. Their columns were renamed twice between major versions, hence the detour by jsonb.
select 'pg_collation'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.collname) as name, null::oid as relation,
       format('create collation %1$I.%2$I (provider = %3$s%4$s%5$s%6$s%7$s);
alter collation %1$I.%2$I owner to %8$I;',
              n.nspname, c.collname,
              case c.collprovider when 'i' then 'icu' when 'b' then 'builtin' else 'libc' end,
              case when c.collprovider in ('i', 'b')
                   then format(', locale = %L',
                               coalesce(j ->> 'colllocale', j ->> 'colliculocale', c.collcollate))
                   else format(', lc_collate = %L, lc_ctype = %L', c.collcollate, c.collctype) end,
              case when not c.collisdeterministic then ', deterministic = false' end,
              case when j ->> 'collicurules' <> '' then format(', rules = %L', j ->> 'collicurules') end,
              case when c.collversion is not null then format(', version = %L', c.collversion) end,
              pg_get_userbyid(c.collowner)) as sql
from pg_collation c
join pg_namespace n on n.oid = c.collnamespace
cross join lateral to_jsonb(c) j
where c.oid >= 16384
