-- $1 and $3 do not matter; $2: only these ids
select row_to_json(r)::text
from (
  select
    p.oid::int8 as id,
    p.pubname as name,
    pg_get_userbyid(p.pubowner) as owner,
    p.pubinsert as publish_insert,
    p.pubupdate as publish_update,
    p.pubdelete as publish_delete,
    p.pubtruncate as publish_truncate,
    case
      when not p.puballtables then coalesce((
        select json_agg(
          json_build_object('id', c.oid::int8, 'name', c.relname, 'schema', n.nspname)
          order by n.nspname, c.relname
        )
        from pg_publication_rel m
        join pg_class c on c.oid = m.prrelid
        join pg_namespace n on n.oid = c.relnamespace
        where m.prpubid = p.oid
      ), '[]')
    end as tables,
    coalesce((
      select json_agg(n.nspname order by n.nspname)
      from pg_publication_namespace m
      join pg_namespace n on n.oid = m.pnnspid
      where m.pnpubid = p.oid
    ), '[]') as schemas
  from pg_publication p
  where $1::boolean is not null and $3::boolean is not null
    and ($2::oid[] is null or p.oid = any ($2))
  order by p.pubname
) r
