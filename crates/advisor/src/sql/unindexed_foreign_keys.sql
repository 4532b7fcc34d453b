-- Foreign keys without an index that begins with their columns.
select n.nspname::text as schema, c.relname::text as name, 'table' as type,
       format('Foreign key %I of table %I.%I has no index: deleting a row of the other table reads all of this one.',
              k.conname, n.nspname, c.relname) as detail,
       format('create index on %I.%I (%s);', n.nspname, c.relname,
              (select string_agg(quote_ident(a.attname), ', ' order by u.at)
               from unnest(k.conkey) with ordinality u (number, at)
               join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.number)) as fix,
       jsonb_build_object('fkey_name', k.conname, 'fkey_columns', to_jsonb(k.conkey)) as metadata,
       format('%s_%s_%s', n.nspname, c.relname, k.conname) as key
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and k.conparentid = 0
  and n.nspname <> all ((select system_schemas from given)::text[])
  and not exists (
      select from pg_index i
      where i.indrelid = k.conrelid and i.indisvalid and i.indpred is null
        and (select array_agg(u.number order by u.number)
             from unnest((i.indkey::int2[])[0:cardinality(k.conkey) - 1]) u (number))
            = (select array_agg(u.number order by u.number) from unnest(k.conkey) u (number)))
