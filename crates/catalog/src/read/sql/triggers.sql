-- $1: also system schemas; $2: only these ids; $3: only what the role may read
select row_to_json(r)::text
from (
  select
    t.oid::int8 as id,
    t.tgrelid::int8 as table_id,
    case t.tgenabled
      when 'D' then 'DISABLED' when 'R' then 'REPLICA' when 'A' then 'ALWAYS' else 'ORIGIN'
    end as enabled_mode,
    t.tgname as name,
    c.relname as table,
    n.nspname as schema,
    case when t.tgtype & 1 = 1 then 'ROW' else 'STATEMENT' end as orientation,
    case
      when t.tgtype & 2 = 2 then 'BEFORE' when t.tgtype & 64 = 64 then 'INSTEAD OF' else 'AFTER'
    end as activation,
    array_remove(array[
      case when t.tgtype & 4 = 4 then 'INSERT' end,
      case when t.tgtype & 8 = 8 then 'DELETE' end,
      case when t.tgtype & 16 = 16 then 'UPDATE' end,
      case when t.tgtype & 32 = 32 then 'TRUNCATE' end
    ], null) as events,
    fn.nspname as function_schema,
    f.proname as function_name,
    -- Each argument ends with a zero byte, which no text may contain.
    coalesce((
      select json_agg(convert_from(decode(argument, 'hex'), getdatabaseencoding()) order by place)
      from regexp_split_to_table(
        rtrim(regexp_replace(encode(t.tgargs, 'hex'), '(..)', '\1,', 'g'), ','), ',?00(?:,|$)'
      ) with ordinality pieces (piece, place)
      cross join lateral (select replace(piece, ',', '') as argument) a
      where place <= t.tgnargs
    ), '[]') as function_args,
    coalesce((
      select json_agg(a.attname order by place)
      from unnest(t.tgattr::int2[]) with ordinality u (attnum, place)
      join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = u.attnum
    ), '[]') as update_columns,
    pg_get_triggerdef(t.oid) as trigger_definition,
    x.extname as extension
  from pg_trigger t
  join pg_class c on c.oid = t.tgrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_proc f on f.oid = t.tgfoid
  join pg_namespace fn on fn.oid = f.pronamespace
  left join pg_depend d
    on d.classid = 'pg_trigger'::regclass and d.objid = t.oid and d.deptype = 'e'
  left join pg_extension x on d.refclassid = 'pg_extension'::regclass and x.oid = d.refobjid
  where not t.tgisinternal
    and ($1 or n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast'))
    and ($2::oid[] is null or t.oid = any ($2))
    and (
      not $3
      or has_schema_privilege(n.oid, 'usage')
      and (has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))
    )
  order by n.nspname, c.relname, t.tgname
) r
